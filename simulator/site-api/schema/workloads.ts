/** Kinds that create pods from a template, in the notation of `schema.ts`. */
export const workloadMessages = `
ControllerRevision: 1 metadata:ObjectMeta, 2 data:Raw, 3 revision!:long
DaemonSet: 1 metadata:ObjectMeta, 2 spec:DaemonSetSpec, 3 status:DaemonSetStatus
Deployment: 1 metadata:ObjectMeta, 2 spec:DeploymentSpec, 3 status:DeploymentStatus
ReplicaSet: 1 metadata:ObjectMeta, 2 spec:ReplicaSetSpec, 3 status:ReplicaSetStatus
StatefulSet: 1 metadata:ObjectMeta, 2 spec:StatefulSetSpec, 3 status:StatefulSetStatus
CronJob: 1 metadata:ObjectMeta, 2 spec:CronJobSpec, 3 status:CronJobStatus
Job: 1 metadata:ObjectMeta, 2 spec:JobSpec, 3 status:JobStatus
DaemonSetSpec: 1 selector?:LabelSelector, 2 template:PodTemplateSpec, 3 updateStrategy:DaemonSetUpdateStrategy,
  4 minReadySeconds:int, 6 revisionHistoryLimit?:int
DaemonSetStatus: 1 currentNumberScheduled!:int, 2 numberMisscheduled!:int, 3 desiredNumberScheduled!:int,
  4 numberReady!:int, 5 observedGeneration:long, 6 updatedNumberScheduled:int, 7 numberAvailable:int,
  8 numberUnavailable:int, 9 collisionCount?:int, 10 conditions*:DaemonSetCondition
DeploymentSpec: 1 replicas?:int, 2 selector?:LabelSelector, 3 template:PodTemplateSpec, 4 strategy:DeploymentStrategy,
  5 minReadySeconds:int, 6 revisionHistoryLimit?:int, 7 paused:bool, 9 progressDeadlineSeconds?:int
DeploymentStatus: 1 observedGeneration:long, 2 replicas:int, 3 updatedReplicas:int, 7 readyReplicas:int,
  4 availableReplicas:int, 5 unavailableReplicas:int, 9 terminatingReplicas?:int, 6 conditions*:DeploymentCondition,
  8 collisionCount?:int
ReplicaSetSpec: 1 replicas?:int, 4 minReadySeconds:int, 2 selector?:LabelSelector, 3 template:PodTemplateSpec
ReplicaSetStatus: 1 replicas!:int, 2 fullyLabeledReplicas:int, 4 readyReplicas:int, 5 availableReplicas:int,
  7 terminatingReplicas?:int, 3 observedGeneration:long, 6 conditions*:ReplicaSetCondition
StatefulSetSpec: 1 replicas?:int, 2 selector?:LabelSelector, 3 template:PodTemplateSpec,
  4 volumeClaimTemplates*:PersistentVolumeClaim, 5 serviceName!, 6 podManagementPolicy,
  7 updateStrategy:StatefulSetUpdateStrategy, 8 revisionHistoryLimit?:int, 9 minReadySeconds:int,
  10 persistentVolumeClaimRetentionPolicy?:StatefulSetPersistentVolumeClaimRetentionPolicy,
  11 ordinals?:StatefulSetOrdinals
StatefulSetStatus: 1 observedGeneration:long, 2 replicas!:int, 3 readyReplicas:int, 4 currentReplicas:int,
  5 updatedReplicas:int, 6 currentRevision, 7 updateRevision, 9 collisionCount?:int,
  10 conditions*:StatefulSetCondition, 11 availableReplicas!:int
CronJobSpec: 1 schedule!, 8 timeZone?, 2 startingDeadlineSeconds?:long, 3 concurrencyPolicy, 4 suspend?:bool,
  5 jobTemplate:JobTemplateSpec, 6 successfulJobsHistoryLimit?:int, 7 failedJobsHistoryLimit?:int
CronJobStatus: 1 active*:ObjectReference, 4 lastScheduleTime?:Time, 5 lastSuccessfulTime?:Time
JobSpec: 1 parallelism?:int, 2 completions?:int, 3 activeDeadlineSeconds?:long, 11 podFailurePolicy?:PodFailurePolicy,
  16 successPolicy?:SuccessPolicy, 7 backoffLimit?:int, 12 backoffLimitPerIndex?:int, 13 maxFailedIndexes?:int,
  4 selector?:LabelSelector, 5 manualSelector?:bool, 6 template:PodTemplateSpec, 8 ttlSecondsAfterFinished?:int,
  9 completionMode?, 10 suspend?:bool, 14 podReplacementPolicy?, 15 managedBy?
JobStatus: 1 conditions*:JobCondition, 2 startTime?:Time, 3 completionTime?:Time, 4 active:int, 5 succeeded:int,
  6 failed:int, 11 terminating?:int, 7 completedIndexes, 10 failedIndexes?,
  8 uncountedTerminatedPods?:UncountedTerminatedPods, 9 ready?:int
DaemonSetUpdateStrategy: 1 type, 2 rollingUpdate?:RollingUpdateDaemonSet
DaemonSetCondition: 1 type!, 2 status!, 3 lastTransitionTime:Time, 4 reason, 5 message
DeploymentStrategy: 1 type, 2 rollingUpdate?:RollingUpdateDeployment
DeploymentCondition: 1 type!, 2 status!, 6 lastUpdateTime:Time, 7 lastTransitionTime:Time, 4 reason, 5 message
ReplicaSetCondition: 1 type!, 2 status!, 3 lastTransitionTime:Time, 4 reason, 5 message
StatefulSetUpdateStrategy: 1 type, 2 rollingUpdate?:RollingUpdateStatefulSetStrategy
StatefulSetPersistentVolumeClaimRetentionPolicy: 1 whenDeleted, 2 whenScaled
StatefulSetOrdinals: 1 start!:int
StatefulSetCondition: 1 type!, 2 status!, 3 lastTransitionTime:Time, 4 reason, 5 message
JobTemplateSpec: 1 metadata:ObjectMeta, 2 spec:JobSpec
PodFailurePolicy: 1 rules*!:PodFailurePolicyRule
SuccessPolicy: 1 rules*!:SuccessPolicyRule
JobCondition: 1 type!, 2 status!, 3 lastProbeTime:Time, 4 lastTransitionTime:Time, 5 reason, 6 message
UncountedTerminatedPods: 1 succeeded*, 2 failed*
RollingUpdateDaemonSet: 1 maxUnavailable?:IntOrString, 2 maxSurge?:IntOrString
RollingUpdateDeployment: 1 maxUnavailable?:IntOrString, 2 maxSurge?:IntOrString
RollingUpdateStatefulSetStrategy: 1 partition?:int, 2 maxUnavailable?:IntOrString
PodFailurePolicyRule: 1 action!, 2 onExitCodes?:PodFailurePolicyOnExitCodesRequirement,
  3 onPodConditions*:PodFailurePolicyOnPodConditionsPattern
SuccessPolicyRule: 1 succeededIndexes?, 2 succeededCount?:int
PodFailurePolicyOnExitCodesRequirement: 1 containerName?, 2 operator!, 3 values*!:int
PodFailurePolicyOnPodConditionsPattern: 1 type!, 2 status!
`;
