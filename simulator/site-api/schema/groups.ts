/** The smaller groups, in the notation of `schema.ts`. */
export const groupMessages = `
Lease: 1 metadata:ObjectMeta, 2 spec:LeaseSpec
EndpointSlice: 1 metadata:ObjectMeta, 4 addressType!, 2 endpoints*!:Endpoint, 3 ports*!:SlicePort
Ingress: 1 metadata:ObjectMeta, 2 spec:IngressSpec, 3 status:IngressStatus
PodDisruptionBudget: 1 metadata:ObjectMeta, 2 spec:PodDisruptionBudgetSpec, 3 status:PodDisruptionBudgetStatus
Eviction: 1 metadata:ObjectMeta, 2 deleteOptions?:DeleteOptions
SelfSubjectAccessReview: 1 metadata:ObjectMeta, 2 spec:SelfSubjectAccessReviewSpec, 3 status:SubjectAccessReviewStatus
SelfSubjectRulesReview: 1 metadata:ObjectMeta, 2 spec:SelfSubjectRulesReviewSpec, 3 status:SubjectRulesReviewStatus
SelfSubjectReview: 1 metadata:ObjectMeta, 2 status:SelfSubjectReviewStatus
LeaseSpec: 1 holderIdentity?, 2 leaseDurationSeconds?:int, 3 acquireTime?:MicroTime, 4 renewTime?:MicroTime,
  5 leaseTransitions?:int, 6 strategy?, 7 preferredHolder?
Endpoint: 1 addresses*!, 2 conditions:EndpointConditions, 3 hostname?, 4 targetRef?:ObjectReference,
  5 deprecatedTopology{}, 6 nodeName?, 7 zone?, 8 hints?:EndpointHints
SlicePort: 1 name?, 2 protocol?, 3 port?:int, 4 appProtocol?
IngressSpec: 4 ingressClassName?, 1 defaultBackend?:IngressBackend, 2 tls*:IngressTLS, 3 rules*:IngressRule
IngressStatus: 1 loadBalancer:IngressLoadBalancerStatus
PodDisruptionBudgetSpec: 1 minAvailable?:IntOrString, 2 selector?:LabelSelector, 3 maxUnavailable?:IntOrString,
  4 unhealthyPodEvictionPolicy?
PodDisruptionBudgetStatus: 1 observedGeneration:long, 2 disruptedPods{}:Time, 3 disruptionsAllowed!:int,
  4 currentHealthy!:int, 5 desiredHealthy!:int, 6 expectedPods!:int, 7 conditions*:Condition
SelfSubjectAccessReviewSpec: 1 resourceAttributes?:ResourceAttributes, 2 nonResourceAttributes?:NonResourceAttributes
SubjectAccessReviewStatus: 1 allowed!:bool, 4 denied:bool, 2 reason, 3 evaluationError
SelfSubjectRulesReviewSpec: 1 namespace
SubjectRulesReviewStatus: 1 resourceRules*!:ResourceRule, 2 nonResourceRules*!:NonResourceRule, 3 incomplete!:bool,
  4 evaluationError
SelfSubjectReviewStatus: 1 userInfo:UserInfo
EndpointConditions: 1 ready?:bool, 2 serving?:bool, 3 terminating?:bool
EndpointHints: 1 forZones*:ForZone, 2 forNodes*:ForNode
IngressBackend: 4 service?:IngressServiceBackend, 3 resource?:TypedLocalObjectReference
IngressTLS: 1 hosts*, 2 secretName
IngressRule: 1 host, 2 ingressRuleValue^:IngressRuleValue
IngressLoadBalancerStatus: 1 ingress*:IngressLoadBalancerIngress
ResourceAttributes: 1 namespace, 2 verb, 3 group, 4 version, 5 resource, 6 subresource, 7 name,
  8 fieldSelector?:FieldSelectorAttributes, 9 labelSelector?:LabelSelectorAttributes
NonResourceAttributes: 1 path, 2 verb
ResourceRule: 1 verbs*!, 2 apiGroups*, 3 resources*, 4 resourceNames*
NonResourceRule: 1 verbs*!, 2 nonResourceURLs*
UserInfo: 1 username, 2 uid, 3 groups*
ForZone: 1 name!
ForNode: 1 name!
IngressServiceBackend: 1 name!, 2 port:ServiceBackendPort
IngressRuleValue: 1 http?:HTTPIngressRuleValue
IngressLoadBalancerIngress: 1 ip, 2 hostname, 4 ports*:IngressPortStatus
FieldSelectorAttributes: 1 rawSelector, 2 requirements*:FieldSelectorRequirement
LabelSelectorAttributes: 1 rawSelector, 2 requirements*:LabelSelectorRequirement
ServiceBackendPort: 1 name, 2 number:int
HTTPIngressRuleValue: 1 paths*!:HTTPIngressPath
IngressPortStatus: 1 port!:int, 2 protocol!, 3 error?
HTTPIngressPath: 1 path, 3 pathType?, 2 backend:IngressBackend
`;
