/** The core group besides pods and volumes, and the metadata of every object, in the notation of `schema.ts`. */
export const coreMessages = `
Namespace: 1 metadata:ObjectMeta, 2 spec:NamespaceSpec, 3 status:NamespaceStatus
Node: 1 metadata:ObjectMeta, 2 spec:NodeSpec, 3 status:NodeStatus
Pod: 1 metadata:ObjectMeta, 2 spec:PodSpec, 3 status:PodStatus
ConfigMap: 1 metadata:ObjectMeta, 4 immutable?:bool, 2 data{}, 3 binaryData{}:bytes
Secret: 1 metadata:ObjectMeta, 5 immutable?:bool, 2 data{}:bytes, 4 stringData{}, 3 type
ServiceAccount: 1 metadata:ObjectMeta, 2 secrets*:ObjectReference, 3 imagePullSecrets*:LocalObjectReference,
  4 automountServiceAccountToken?:bool
Service: 1 metadata:ObjectMeta, 2 spec:ServiceSpec, 3 status:ServiceStatus
Endpoints: 1 metadata:ObjectMeta, 2 subsets*:EndpointSubset
Event: 1 metadata:ObjectMeta, 2 involvedObject:ObjectReference, 3 reason, 4 message, 5 source:EventSource,
  6 firstTimestamp:Time, 7 lastTimestamp:Time, 8 count:int, 9 type, 10 eventTime:MicroTime, 11 series?:EventSeries,
  12 action, 13 related?:ObjectReference, 14 reportingComponent!, 15 reportingInstance!
ReplicationController: 1 metadata:ObjectMeta, 2 spec:ReplicationControllerSpec, 3 status:ReplicationControllerStatus
Binding: 1 metadata:ObjectMeta, 2 target:ObjectReference
DeleteOptions: 1 gracePeriodSeconds?:long, 2 preconditions?:Preconditions, 3 orphanDependents?:bool,
  4 propagationPolicy?, 5 dryRun*, 6 ignoreStoreReadErrorWithClusterBreakingPotential?:bool
ObjectMeta: 1 name, 2 generateName, 3 namespace, 4 selfLink, 5 uid, 6 resourceVersion, 7 generation:long,
  8 creationTimestamp:Time, 9 deletionTimestamp?:Time, 10 deletionGracePeriodSeconds?:long, 11 labels{},
  12 annotations{}, 13 ownerReferences*:OwnerReference, 14 finalizers*, 17 managedFields*:ManagedFieldsEntry
NamespaceSpec: 1 finalizers*
NamespaceStatus: 1 phase, 2 conditions*:NamespaceCondition
NodeSpec: 1 podCIDR, 7 podCIDRs*, 3 providerID, 4 unschedulable:bool, 5 taints*:Taint,
  6 configSource?:NodeConfigSource, 2 externalID
NodeStatus: 1 capacity{}:Quantity, 2 allocatable{}:Quantity, 3 phase, 4 conditions*:NodeCondition,
  5 addresses*:NodeAddress, 6 daemonEndpoints:NodeDaemonEndpoints, 7 nodeInfo:NodeSystemInfo,
  8 images*:ContainerImage, 9 volumesInUse*, 10 volumesAttached*:AttachedVolume, 11 config?:NodeConfigStatus,
  12 runtimeHandlers*:NodeRuntimeHandler, 13 features?:NodeFeatures, 14 declaredFeatures*
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
ReplicationControllerSpec: 1 replicas?:int, 4 minReadySeconds:int, 2 selector{}, 3 template?:PodTemplateSpec
ReplicationControllerStatus: 1 replicas!:int, 2 fullyLabeledReplicas:int, 4 readyReplicas:int,
  5 availableReplicas:int, 3 observedGeneration:long, 6 conditions*:ReplicationControllerCondition
Preconditions: 1 uid?, 2 resourceVersion?
OwnerReference: 5 apiVersion!, 1 kind!, 3 name!, 4 uid!, 6 controller?:bool, 7 blockOwnerDeletion?:bool
ManagedFieldsEntry: 1 manager, 2 operation, 3 apiVersion, 4 time?:Time, 6 fieldsType, 7 fieldsV1?:FieldsV1,
  8 subresource
NamespaceCondition: 1 type!, 2 status!, 4 lastTransitionTime:Time, 5 reason, 6 message
Taint: 1 key!, 2 value, 3 effect!, 4 timeAdded?:Time
NodeConfigSource: 2 configMap?:ConfigMapNodeConfigSource
NodeCondition: 1 type!, 2 status!, 3 lastHeartbeatTime:Time, 4 lastTransitionTime:Time, 5 reason, 6 message
NodeAddress: 1 type!, 2 address!
NodeDaemonEndpoints: 1 kubeletEndpoint:DaemonEndpoint
NodeSystemInfo: 1 machineID!, 2 systemUUID!, 3 bootID!, 4 kernelVersion!, 5 osImage!, 6 containerRuntimeVersion!,
  7 kubeletVersion!, 8 kubeProxyVersion!, 9 operatingSystem!, 10 architecture!, 11 swap?:NodeSwapStatus
ContainerImage: 1 names*!, 2 sizeBytes:long
AttachedVolume: 1 name!, 2 devicePath!
NodeConfigStatus: 1 assigned?:NodeConfigSource, 2 active?:NodeConfigSource, 3 lastKnownGood?:NodeConfigSource, 4 error
NodeRuntimeHandler: 1 name!, 2 features?:NodeRuntimeHandlerFeatures
NodeFeatures: 1 supplementalGroupsPolicy?:bool
ServicePort: 1 name, 2 protocol, 6 appProtocol?, 3 port!:int, 4 targetPort:IntOrString, 5 nodePort:int
SessionAffinityConfig: 1 clientIP?:ClientIPConfig
LoadBalancerStatus: 1 ingress*:LoadBalancerIngress
Condition: 1 type!, 2 status!, 3 observedGeneration:long, 4 lastTransitionTime:Time, 5 reason!, 6 message!
EndpointAddress: 1 ip!, 3 hostname, 4 nodeName?, 2 targetRef?:ObjectReference
EndpointPort: 1 name, 2 port!:int, 3 protocol, 4 appProtocol?
LabelSelector: 1 matchLabels{}, 2 matchExpressions*:LabelSelectorRequirement
TypedLocalObjectReference: 1 apiGroup?, 2 kind!, 3 name!
PodTemplateSpec: 1 metadata:ObjectMeta, 2 spec:PodSpec
ReplicationControllerCondition: 1 type!, 2 status!, 3 lastTransitionTime:Time, 4 reason, 5 message
ConfigMapNodeConfigSource: 1 namespace!, 2 name!, 3 uid, 4 resourceVersion, 5 kubeletConfigKey!
DaemonEndpoint: 1 Port!:int
NodeSwapStatus: 1 capacity?:long
NodeRuntimeHandlerFeatures: 1 recursiveReadOnlyMounts?:bool, 2 userNamespaces?:bool
ClientIPConfig: 1 timeoutSeconds?:int
LoadBalancerIngress: 1 ip, 2 hostname, 3 ipMode?, 4 ports*:PortStatus
LabelSelectorRequirement: 1 key!, 2 operator!, 3 values*
PortStatus: 1 port!:int, 2 protocol!, 3 error?
SecretReference: 1 name, 2 namespace
FieldSelectorRequirement: 1 key!, 2 operator!, 3 values*
KeyToPath: 1 key!, 2 path!, 3 mode?:int
`;
