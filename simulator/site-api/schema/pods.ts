/** Pods and pod templates, in the notation of `schema.ts`. */
export const podMessages = `
PodSpec: 1 volumes*:Volume, 20 initContainers*:Container, 2 containers*!:Container,
  34 ephemeralContainers*:EphemeralContainer, 3 restartPolicy, 4 terminationGracePeriodSeconds?:long,
  5 activeDeadlineSeconds?:long, 6 dnsPolicy, 7 nodeSelector{}, 8 serviceAccountName, 9 serviceAccount,
  21 automountServiceAccountToken?:bool, 10 nodeName, 11 hostNetwork:bool, 12 hostPID:bool, 13 hostIPC:bool,
  27 shareProcessNamespace?:bool, 14 securityContext?:PodSecurityContext, 15 imagePullSecrets*:LocalObjectReference,
  16 hostname, 17 subdomain, 18 affinity?:Affinity, 19 schedulerName, 22 tolerations*:Toleration,
  23 hostAliases*:HostAlias, 24 priorityClassName, 25 priority?:int, 26 dnsConfig?:PodDNSConfig,
  28 readinessGates*:PodReadinessGate, 29 runtimeClassName?, 30 enableServiceLinks?:bool, 31 preemptionPolicy?,
  32 overhead{}:Quantity, 33 topologySpreadConstraints*:TopologySpreadConstraint, 35 setHostnameAsFQDN?:bool,
  36 os?:PodOS, 37 hostUsers?:bool, 38 schedulingGates*:PodSchedulingGate, 39 resourceClaims*:PodResourceClaim,
  40 resources?:ResourceRequirements, 41 hostnameOverride?, 43 schedulingGroup?:PodSchedulingGroup
PodStatus: 17 observedGeneration:long, 1 phase, 2 conditions*:PodCondition, 3 message, 4 reason, 11 nominatedNodeName,
  5 hostIP, 16 hostIPs*:HostIP, 6 podIP, 12 podIPs*:PodIP, 7 startTime?:Time,
  10 initContainerStatuses*:ContainerStatus, 8 containerStatuses*:ContainerStatus, 9 qosClass,
  13 ephemeralContainerStatuses*:ContainerStatus, 14 resize, 15 resourceClaimStatuses*:PodResourceClaimStatus,
  18 extendedResourceClaimStatus?:PodExtendedResourceClaimStatus, 19 allocatedResources{}:Quantity,
  20 resources?:ResourceRequirements, 21 nodeAllocatableResourceClaimStatuses*:NodeAllocatableResourceClaimStatus
LocalObjectReference: 1 name
Volume: 1 name!, 2 volumeSource^:VolumeSource
Container: 1 name!, 2 image, 3 command*, 4 args*, 5 workingDir, 6 ports*:ContainerPort, 19 envFrom*:EnvFromSource,
  7 env*:EnvVar, 8 resources:ResourceRequirements, 23 resizePolicy*:ContainerResizePolicy, 24 restartPolicy?,
  25 restartPolicyRules*:ContainerRestartRule, 9 volumeMounts*:VolumeMount, 21 volumeDevices*:VolumeDevice,
  10 livenessProbe?:Probe, 11 readinessProbe?:Probe, 22 startupProbe?:Probe, 12 lifecycle?:Lifecycle,
  13 terminationMessagePath, 20 terminationMessagePolicy, 14 imagePullPolicy, 15 securityContext?:SecurityContext,
  16 stdin:bool, 17 stdinOnce:bool, 18 tty:bool
EphemeralContainer: 1 ephemeralContainerCommon^:EphemeralContainerCommon, 2 targetContainerName
PodSecurityContext: 1 seLinuxOptions?:SELinuxOptions, 8 windowsOptions?:WindowsSecurityContextOptions,
  2 runAsUser?:long, 6 runAsGroup?:long, 3 runAsNonRoot?:bool, 4 supplementalGroups*:long,
  12 supplementalGroupsPolicy?, 5 fsGroup?:long, 7 sysctls*:Sysctl, 9 fsGroupChangePolicy?,
  10 seccompProfile?:SeccompProfile, 11 appArmorProfile?:AppArmorProfile, 13 seLinuxChangePolicy?
Affinity: 1 nodeAffinity?:NodeAffinity, 2 podAffinity?:PodAffinity, 3 podAntiAffinity?:PodAntiAffinity
Toleration: 1 key, 2 operator, 3 value, 4 effect, 5 tolerationSeconds?:long
HostAlias: 1 ip!, 2 hostnames*
PodDNSConfig: 1 nameservers*, 2 searches*, 3 options*:PodDNSConfigOption
PodReadinessGate: 1 conditionType!
TopologySpreadConstraint: 1 maxSkew!:int, 2 topologyKey!, 3 whenUnsatisfiable!, 4 labelSelector?:LabelSelector,
  5 minDomains?:int, 6 nodeAffinityPolicy?, 7 nodeTaintsPolicy?, 8 matchLabelKeys*
PodOS: 1 name!
PodSchedulingGate: 1 name!
PodResourceClaim: 1 name!, 3 resourceClaimName?, 4 resourceClaimTemplateName?
ResourceRequirements: 1 limits{}:Quantity, 2 requests{}:Quantity, 3 claims*:ResourceClaim
PodSchedulingGroup: 1 podGroupName?
PodCondition: 1 type!, 7 observedGeneration:long, 2 status!, 3 lastProbeTime:Time, 4 lastTransitionTime:Time,
  5 reason, 6 message
HostIP: 1 ip!
PodIP: 1 ip!
ContainerStatus: 1 name!, 2 state:ContainerState, 3 lastState:ContainerState, 4 ready!:bool, 5 restartCount!:int,
  6 image!, 7 imageID!, 8 containerID, 9 started?:bool, 10 allocatedResources{}:Quantity,
  11 resources?:ResourceRequirements, 12 volumeMounts*:VolumeMountStatus, 13 user?:ContainerUser,
  14 allocatedResourcesStatus*:ResourceStatus, 15 stopSignal?
PodResourceClaimStatus: 1 name!, 2 resourceClaimName?
PodExtendedResourceClaimStatus: 1 requestMappings*!:ContainerExtendedResourceRequest, 2 resourceClaimName!
NodeAllocatableResourceClaimStatus: 1 resourceClaimName!, 2 containers*, 3 resources{}!:Quantity
ContainerPort: 1 name, 2 hostPort:int, 3 containerPort!:int, 4 protocol, 5 hostIP
EnvFromSource: 1 prefix, 2 configMapRef?:ConfigMapEnvSource, 3 secretRef?:SecretEnvSource
EnvVar: 1 name!, 2 value, 3 valueFrom?:EnvVarSource
ContainerResizePolicy: 1 resourceName!, 2 restartPolicy!
ContainerRestartRule: 1 action, 2 exitCodes?:ContainerRestartRuleOnExitCodes
VolumeMount: 1 name!, 2 readOnly:bool, 7 recursiveReadOnly?, 3 mountPath!, 4 subPath, 5 mountPropagation?,
  6 subPathExpr
VolumeDevice: 1 name!, 2 devicePath!
Probe: 1 handler^:ProbeHandler, 2 initialDelaySeconds:int, 3 timeoutSeconds:int, 4 periodSeconds:int,
  5 successThreshold:int, 6 failureThreshold:int, 7 terminationGracePeriodSeconds?:long
Lifecycle: 1 postStart?:LifecycleHandler, 2 preStop?:LifecycleHandler, 3 stopSignal?
SecurityContext: 1 capabilities?:Capabilities, 2 privileged?:bool, 3 seLinuxOptions?:SELinuxOptions,
  10 windowsOptions?:WindowsSecurityContextOptions, 4 runAsUser?:long, 8 runAsGroup?:long, 5 runAsNonRoot?:bool,
  6 readOnlyRootFilesystem?:bool, 7 allowPrivilegeEscalation?:bool, 9 procMount?, 11 seccompProfile?:SeccompProfile,
  12 appArmorProfile?:AppArmorProfile
EphemeralContainerCommon: 1 name!, 2 image, 3 command*, 4 args*, 5 workingDir, 6 ports*:ContainerPort,
  19 envFrom*:EnvFromSource, 7 env*:EnvVar, 8 resources:ResourceRequirements, 23 resizePolicy*:ContainerResizePolicy,
  24 restartPolicy?, 25 restartPolicyRules*:ContainerRestartRule, 9 volumeMounts*:VolumeMount,
  21 volumeDevices*:VolumeDevice, 10 livenessProbe?:Probe, 11 readinessProbe?:Probe, 22 startupProbe?:Probe,
  12 lifecycle?:Lifecycle, 13 terminationMessagePath, 20 terminationMessagePolicy, 14 imagePullPolicy,
  15 securityContext?:SecurityContext, 16 stdin:bool, 17 stdinOnce:bool, 18 tty:bool
SELinuxOptions: 1 user, 2 role, 3 type, 4 level
WindowsSecurityContextOptions: 1 gmsaCredentialSpecName?, 2 gmsaCredentialSpec?, 3 runAsUserName?, 4 hostProcess?:bool
Sysctl: 1 name!, 2 value!
SeccompProfile: 1 type!, 2 localhostProfile?
AppArmorProfile: 1 type!, 2 localhostProfile?
NodeAffinity: 1 requiredDuringSchedulingIgnoredDuringExecution?:NodeSelector,
  2 preferredDuringSchedulingIgnoredDuringExecution*:PreferredSchedulingTerm
PodAffinity: 1 requiredDuringSchedulingIgnoredDuringExecution*:PodAffinityTerm,
  2 preferredDuringSchedulingIgnoredDuringExecution*:WeightedPodAffinityTerm
PodAntiAffinity: 1 requiredDuringSchedulingIgnoredDuringExecution*:PodAffinityTerm,
  2 preferredDuringSchedulingIgnoredDuringExecution*:WeightedPodAffinityTerm
PodDNSConfigOption: 1 name, 2 value?
ResourceClaim: 1 name!, 2 request
ContainerState: 1 waiting?:ContainerStateWaiting, 2 running?:ContainerStateRunning,
  3 terminated?:ContainerStateTerminated
VolumeMountStatus: 1 name!, 2 mountPath!, 3 readOnly:bool, 4 recursiveReadOnly?, 5 volumeStatus?:VolumeStatus
ContainerUser: 1 linux?:LinuxContainerUser
ResourceStatus: 1 name!, 2 resources*:ResourceHealth
ContainerExtendedResourceRequest: 1 containerName!, 2 resourceName!, 3 requestName!
NodeSelector: 1 nodeSelectorTerms*!:NodeSelectorTerm
ConfigMapEnvSource: 1 localObjectReference^:LocalObjectReference, 2 optional?:bool
SecretEnvSource: 1 localObjectReference^:LocalObjectReference, 2 optional?:bool
EnvVarSource: 1 fieldRef?:ObjectFieldSelector, 2 resourceFieldRef?:ResourceFieldSelector,
  3 configMapKeyRef?:ConfigMapKeySelector, 4 secretKeyRef?:SecretKeySelector, 5 fileKeyRef?:FileKeySelector
ContainerRestartRuleOnExitCodes: 1 operator, 2 values*:int
ProbeHandler: 1 exec?:ExecAction, 2 httpGet?:HTTPGetAction, 3 tcpSocket?:TCPSocketAction, 4 grpc?:GRPCAction
LifecycleHandler: 1 exec?:ExecAction, 2 httpGet?:HTTPGetAction, 3 tcpSocket?:TCPSocketAction, 4 sleep?:SleepAction
Capabilities: 1 add*, 2 drop*
PreferredSchedulingTerm: 1 weight!:int, 2 preference:NodeSelectorTerm
PodAffinityTerm: 1 labelSelector?:LabelSelector, 2 namespaces*, 3 topologyKey!, 4 namespaceSelector?:LabelSelector,
  5 matchLabelKeys*, 6 mismatchLabelKeys*
WeightedPodAffinityTerm: 1 weight!:int, 2 podAffinityTerm:PodAffinityTerm
ContainerStateWaiting: 1 reason, 2 message
ContainerStateRunning: 1 startedAt:Time
ContainerStateTerminated: 1 exitCode!:int, 2 signal:int, 3 reason, 4 message, 5 startedAt:Time, 6 finishedAt:Time,
  7 containerID
VolumeStatus: 1 image?:ImageVolumeStatus
LinuxContainerUser: 1 uid!:long, 2 gid!:long, 3 supplementalGroups*:long
ResourceHealth: 1 resourceID!, 2 health, 6 message?
NodeSelectorTerm: 1 matchExpressions*:NodeSelectorRequirement, 2 matchFields*:NodeSelectorRequirement
ConfigMapKeySelector: 1 localObjectReference^:LocalObjectReference, 2 key!, 3 optional?:bool
SecretKeySelector: 1 localObjectReference^:LocalObjectReference, 2 key!, 3 optional?:bool
FileKeySelector: 1 volumeName!, 2 path!, 3 key!, 4 optional?:bool
ExecAction: 1 command*
HTTPGetAction: 1 path, 2 port!:IntOrString, 3 host, 4 scheme, 5 httpHeaders*:HTTPHeader
TCPSocketAction: 1 port!:IntOrString, 2 host
GRPCAction: 1 port!:int, 2 service?
SleepAction: 1 seconds!:long
ImageVolumeStatus: 1 imageRef
NodeSelectorRequirement: 1 key!, 2 operator!, 3 values*
HTTPHeader: 1 name!, 2 value!
`;
