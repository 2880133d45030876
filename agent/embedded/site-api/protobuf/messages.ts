/** The kinds that clients write, and their parts other than pods', in the notation of `schema.ts`. */
export const messages = `
Namespace: 1 metadata:ObjectMeta, 2 spec:NamespaceSpec, 3 status:NamespaceStatus
Pod: 1 metadata:ObjectMeta, 2 spec:PodSpec, 3 status:PodStatus
ConfigMap: 1 metadata:ObjectMeta, 4 immutable?:bool, 2 data{}, 3 binaryData{}:bytes
Secret: 1 metadata:ObjectMeta, 5 immutable?:bool, 2 data{}:bytes, 4 stringData{}, 3 type
ServiceAccount: 1 metadata:ObjectMeta, 2 secrets*:ObjectReference, 3 imagePullSecrets*:LocalObjectReference,
  4 automountServiceAccountToken?:bool
Service: 1 metadata:ObjectMeta, 2 spec:ServiceSpec, 3 status:ServiceStatus
Endpoints: 1 metadata:ObjectMeta, 2 subsets*:EndpointSubset
Event: 1 metadata:ObjectMeta, 2 involvedObject:ObjectReference, 3 reason, 4 message, 5 source:EventSource,
  6 firstTimestamp:Time, 7 lastTimestamp:Time, 8 count:int, 9 type, 10 eventTime:MicroTime, 11 series?:EventSeries,
  12 action, 13 related?:ObjectReference, 14 reportingComponent, 15 reportingInstance
Node: 1 metadata:ObjectMeta, 2 spec:NodeSpec, 3 status:NodeStatus
Binding: 1 metadata:ObjectMeta, 2 target:ObjectReference
DaemonSet: 1 metadata:ObjectMeta, 2 spec:DaemonSetSpec, 3 status:DaemonSetStatus
Deployment: 1 metadata:ObjectMeta, 2 spec:DeploymentSpec, 3 status:DeploymentStatus
ReplicaSet: 1 metadata:ObjectMeta, 2 spec:ReplicaSetSpec, 3 status:ReplicaSetStatus
Ingress: 1 metadata:ObjectMeta, 2 spec:IngressSpec, 3 status:IngressStatus
CronJob: 1 metadata:ObjectMeta, 2 spec:CronJobSpec, 3 status:CronJobStatus
Job: 1 metadata:ObjectMeta, 2 spec:JobSpec, 3 status:JobStatus
ControllerRevision: 1 metadata:ObjectMeta, 2 data:Raw, 3 revision:int
Lease: 1 metadata:ObjectMeta, 2 spec:LeaseSpec
EndpointSlice: 1 metadata:ObjectMeta, 4 addressType, 2 endpoints*:Endpoint, 3 ports*:SlicePort
Eviction: 1 metadata:ObjectMeta, 2 deleteOptions?:DeleteOptions
SelfSubjectAccessReview: 1 metadata:ObjectMeta, 2 spec:SelfSubjectAccessReviewSpec,
  3 status:SubjectAccessReviewStatus
SelfSubjectRulesReview: 1 metadata:ObjectMeta, 2 spec:SelfSubjectRulesReviewSpec, 3 status:SubjectRulesReviewStatus
SelfSubjectReview: 1 metadata:ObjectMeta, 2 status:SelfSubjectReviewStatus
DeleteOptions: 1 gracePeriodSeconds?:int, 2 preconditions?:Preconditions, 3 orphanDependents?:bool,
  4 propagationPolicy?, 5 dryRun*, 6 ignoreStoreReadErrorWithClusterBreakingPotential?:bool
ObjectMeta: 1 name, 2 generateName, 3 namespace, 4 selfLink, 5 uid, 6 resourceVersion, 7 generation:int,
  8 creationTimestamp:Time, 9 deletionTimestamp?:Time, 10 deletionGracePeriodSeconds?:int, 11 labels{},
  12 annotations{}, 13 ownerReferences*:OwnerReference, 14 finalizers*, 17 managedFields*:ManagedFieldsEntry
NamespaceSpec: 1 finalizers*
NamespaceStatus: 1 phase, 2 conditions*:NamespaceCondition
ObjectReference: 1 kind, 2 namespace, 3 name, 4 uid, 5 apiVersion, 6 resourceVersion, 7 fieldPath
ServiceSpec: 1 ports*:ServicePort, 2 selector{}, 3 clusterIP, 18 clusterIPs*, 4 type, 5 externalIPs*,
  7 sessionAffinity, 8 loadBalancerIP, 9 loadBalancerSourceRanges*, 10 externalName, 11 externalTrafficPolicy,
  12 healthCheckNodePort:int, 13 publishNotReadyAddresses:bool, 14 sessionAffinityConfig?:SessionAffinityConfig,
  19 ipFamilies*, 17 ipFamilyPolicy?, 20 allocateLoadBalancerNodePorts?:bool, 21 loadBalancerClass?,
  22 internalTrafficPolicy?, 23 trafficDistribution?
ServiceStatus: 1 loadBalancer:LoadBalancerStatus, 2 conditions*:Condition
EndpointSubset: 1 addresses*:EndpointAddress, 2 notReadyAddresses*:EndpointAddress, 3 ports*:EndpointPort
EventSource: 1 component, 2 host
EventSeries: 1 count:int, 2 lastObservedTime:MicroTime
NodeSpec: 1 podCIDR, 7 podCIDRs*, 3 providerID, 4 unschedulable:bool, 5 taints*:Taint, 2 externalID
NodeStatus: 1 capacity{}:Quantity, 2 allocatable{}:Quantity, 3 phase, 4 conditions*:NodeCondition,
  5 addresses*:NodeAddress, 6 daemonEndpoints:NodeDaemonEndpoints, 7 nodeInfo:NodeSystemInfo,
  8 images*:ContainerImage, 9 volumesInUse*, 10 volumesAttached*:AttachedVolume, 14 declaredFeatures*
DaemonSetSpec: 1 selector?:LabelSelector, 2 template:PodTemplateSpec, 3 updateStrategy:DaemonSetUpdateStrategy,
  4 minReadySeconds:int, 6 revisionHistoryLimit?:int
DaemonSetStatus: 1 currentNumberScheduled:int, 2 numberMisscheduled:int, 3 desiredNumberScheduled:int,
  4 numberReady:int, 5 observedGeneration:int, 6 updatedNumberScheduled:int, 7 numberAvailable:int,
  8 numberUnavailable:int, 9 collisionCount?:int, 10 conditions*:DaemonSetCondition
DeploymentSpec: 1 replicas?:int, 2 selector?:LabelSelector, 3 template:PodTemplateSpec, 4 strategy:DeploymentStrategy,
  5 minReadySeconds:int, 6 revisionHistoryLimit?:int, 7 paused:bool, 9 progressDeadlineSeconds?:int
DeploymentStatus: 1 observedGeneration:int, 2 replicas:int, 3 updatedReplicas:int, 7 readyReplicas:int,
  4 availableReplicas:int, 5 unavailableReplicas:int, 9 terminatingReplicas?:int, 6 conditions*:DeploymentCondition,
  8 collisionCount?:int
ReplicaSetSpec: 1 replicas?:int, 4 minReadySeconds:int, 2 selector?:LabelSelector, 3 template:PodTemplateSpec
ReplicaSetStatus: 1 replicas:int, 2 fullyLabeledReplicas:int, 4 readyReplicas:int, 5 availableReplicas:int,
  7 terminatingReplicas?:int, 3 observedGeneration:int, 6 conditions*:ReplicaSetCondition
CronJobSpec: 1 schedule, 8 timeZone?, 2 startingDeadlineSeconds?:int, 3 concurrencyPolicy, 4 suspend?:bool,
  5 jobTemplate:JobTemplateSpec, 6 successfulJobsHistoryLimit?:int, 7 failedJobsHistoryLimit?:int
CronJobStatus: 4 lastScheduleTime?:Time, 5 lastSuccessfulTime?:Time
JobTemplateSpec: 1 metadata:ObjectMeta, 2 spec:JobSpec
JobSpec: 1 parallelism?:int, 2 completions?:int, 3 activeDeadlineSeconds?:int, 7 backoffLimit?:int,
  4 selector?:LabelSelector, 5 manualSelector?:bool, 6 template:PodTemplateSpec, 8 ttlSecondsAfterFinished?:int,
  9 completionMode?, 10 suspend?:bool
JobStatus: 2 startTime?:Time, 3 completionTime?:Time, 4 active:int, 5 succeeded:int, 6 failed:int,
  7 completedIndexes
IngressSpec: 4 ingressClassName?, 1 defaultBackend?:IngressBackend, 2 tls*:IngressTLS, 3 rules*:IngressRule
IngressStatus: 1 loadBalancer:IngressLoadBalancer
IngressLoadBalancer: 1 ingress*:LoadBalancerIngress
IngressRule: 1 host, 2 rules^:IngressRuleValue
IngressRuleValue: 1 http?:IngressPaths
IngressPaths: 1 paths*:IngressPath
IngressPath: 1 path, 3 pathType?, 2 backend:IngressBackend
IngressBackend: 4 service?:IngressService
IngressService: 1 name, 2 port:IngressPort
IngressPort: 1 name, 2 number:int
IngressTLS: 1 hosts*, 2 secretName
LeaseSpec: 1 holderIdentity?, 2 leaseDurationSeconds?:int, 3 acquireTime?:MicroTime, 4 renewTime?:MicroTime,
  5 leaseTransitions?:int, 6 strategy?, 7 preferredHolder?
Endpoint: 1 addresses*, 2 conditions:EndpointConditions, 3 hostname?, 4 targetRef?:ObjectReference,
  5 deprecatedTopology{}, 6 nodeName?, 7 zone?, 8 hints?:EndpointHints
SlicePort: 1 name?, 2 protocol?, 3 port?:int, 4 appProtocol?
SelfSubjectAccessReviewSpec: 1 resourceAttributes?:ResourceAttributes, 2 nonResourceAttributes?:NonResourceAttributes
SubjectAccessReviewStatus: 1 allowed:bool, 4 denied:bool, 2 reason, 3 evaluationError
SelfSubjectRulesReviewSpec: 1 namespace
SubjectRulesReviewStatus: 3 incomplete:bool, 4 evaluationError
SelfSubjectReviewStatus: 1 userInfo:UserInfo
Preconditions: 1 uid?, 2 resourceVersion?
OwnerReference: 5 apiVersion, 1 kind, 3 name, 4 uid, 6 controller?:bool, 7 blockOwnerDeletion?:bool
ManagedFieldsEntry: 1 manager, 2 operation, 3 apiVersion, 4 time?:Time, 6 fieldsType, 7 fieldsV1?:FieldsV1,
  8 subresource
NamespaceCondition: 1 type, 2 status, 4 lastTransitionTime:Time, 5 reason, 6 message
ServicePort: 1 name, 2 protocol, 6 appProtocol?, 3 port:int, 4 targetPort:IntOrString, 5 nodePort:int
SessionAffinityConfig: 1 clientIP?:ClientIPConfig
LoadBalancerStatus: 1 ingress*:LoadBalancerIngress
Condition: 1 type, 2 status, 3 observedGeneration:int, 4 lastTransitionTime:Time, 5 reason, 6 message
EndpointAddress: 1 ip, 3 hostname, 4 nodeName?, 2 targetRef?:ObjectReference
EndpointPort: 1 name, 2 port:int, 3 protocol, 4 appProtocol?
Taint: 1 key, 2 value, 3 effect, 4 timeAdded?:Time
NodeCondition: 1 type, 2 status, 3 lastHeartbeatTime:Time, 4 lastTransitionTime:Time, 5 reason, 6 message
NodeAddress: 1 type, 2 address
NodeDaemonEndpoints: 1 kubeletEndpoint:DaemonEndpoint
NodeSystemInfo: 1 machineID, 2 systemUUID, 3 bootID, 4 kernelVersion, 5 osImage, 6 containerRuntimeVersion,
  7 kubeletVersion, 8 kubeProxyVersion, 9 operatingSystem, 10 architecture
ContainerImage: 1 names*, 2 sizeBytes:int
AttachedVolume: 1 name, 2 devicePath
LabelSelector: 1 matchLabels{}, 2 matchExpressions*:LabelSelectorRequirement
PodTemplateSpec: 1 metadata:ObjectMeta, 2 spec:PodSpec
DaemonSetUpdateStrategy: 1 type, 2 rollingUpdate?:RollingUpdateDaemonSet
DaemonSetCondition: 1 type, 2 status, 3 lastTransitionTime:Time, 4 reason, 5 message
DeploymentStrategy: 1 type, 2 rollingUpdate?:RollingUpdateDeployment
DeploymentCondition: 1 type, 2 status, 6 lastUpdateTime:Time, 7 lastTransitionTime:Time, 4 reason, 5 message
ReplicaSetCondition: 1 type, 2 status, 3 lastTransitionTime:Time, 4 reason, 5 message
EndpointConditions: 1 ready?:bool, 2 serving?:bool, 3 terminating?:bool
EndpointHints: 1 forZones*:ForZone, 2 forNodes*:ForNode
ResourceAttributes: 1 namespace, 2 verb, 3 group, 4 version, 5 resource, 6 subresource, 7 name
NonResourceAttributes: 1 path, 2 verb
UserInfo: 1 username, 2 uid, 3 groups*
ClientIPConfig: 1 timeoutSeconds?:int
LoadBalancerIngress: 1 ip, 2 hostname, 3 ipMode?
DaemonEndpoint: 1 Port:int
LabelSelectorRequirement: 1 key, 2 operator, 3 values*
RollingUpdateDaemonSet: 1 maxUnavailable?:IntOrString, 2 maxSurge?:IntOrString
RollingUpdateDeployment: 1 maxUnavailable?:IntOrString, 2 maxSurge?:IntOrString
ForZone: 1 name
ForNode: 1 name
`;
