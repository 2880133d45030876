/** Volumes and their claims, in the notation of `schema.ts`. */
export const volumeMessages = `
PersistentVolume: 1 metadata:ObjectMeta, 2 spec:PersistentVolumeSpec, 3 status:PersistentVolumeStatus
PersistentVolumeClaim: 1 metadata:ObjectMeta, 2 spec:PersistentVolumeClaimSpec, 3 status:PersistentVolumeClaimStatus
PersistentVolumeSpec: 1 capacity{}:Quantity, 2 persistentVolumeSource^:PersistentVolumeSource, 3 accessModes*,
  4 claimRef?:ObjectReference, 5 persistentVolumeReclaimPolicy, 6 storageClassName, 7 mountOptions*, 8 volumeMode?,
  9 nodeAffinity?:VolumeNodeAffinity, 10 volumeAttributesClassName?
PersistentVolumeStatus: 1 phase, 2 message, 3 reason, 4 lastPhaseTransitionTime?:Time
PersistentVolumeClaimSpec: 1 accessModes*, 4 selector?:LabelSelector, 2 resources:VolumeResourceRequirements,
  3 volumeName, 5 storageClassName?, 6 volumeMode?, 7 dataSource?:TypedLocalObjectReference,
  8 dataSourceRef?:TypedObjectReference, 9 volumeAttributesClassName?
PersistentVolumeClaimStatus: 1 phase, 2 accessModes*, 3 capacity{}:Quantity,
  4 conditions*:PersistentVolumeClaimCondition, 5 allocatedResources{}:Quantity, 7 allocatedResourceStatuses{},
  8 currentVolumeAttributesClassName?, 9 modifyVolumeStatus?:ModifyVolumeStatus
PersistentVolumeSource: 1 gcePersistentDisk?:GCEPersistentDiskVolumeSource,
  2 awsElasticBlockStore?:AWSElasticBlockStoreVolumeSource, 3 hostPath?:HostPathVolumeSource,
  4 glusterfs?:GlusterfsPersistentVolumeSource, 5 nfs?:NFSVolumeSource, 6 rbd?:RBDPersistentVolumeSource,
  7 iscsi?:ISCSIPersistentVolumeSource, 8 cinder?:CinderPersistentVolumeSource,
  9 cephfs?:CephFSPersistentVolumeSource, 10 fc?:FCVolumeSource, 11 flocker?:FlockerVolumeSource,
  12 flexVolume?:FlexPersistentVolumeSource, 13 azureFile?:AzureFilePersistentVolumeSource,
  14 vsphereVolume?:VsphereVirtualDiskVolumeSource, 15 quobyte?:QuobyteVolumeSource,
  16 azureDisk?:AzureDiskVolumeSource, 17 photonPersistentDisk?:PhotonPersistentDiskVolumeSource,
  18 portworxVolume?:PortworxVolumeSource, 19 scaleIO?:ScaleIOPersistentVolumeSource, 20 local?:LocalVolumeSource,
  21 storageos?:StorageOSPersistentVolumeSource, 22 csi?:CSIPersistentVolumeSource
VolumeNodeAffinity: 1 required?:NodeSelector
VolumeResourceRequirements: 1 limits{}:Quantity, 2 requests{}:Quantity
TypedObjectReference: 1 apiGroup?, 2 kind!, 3 name!, 4 namespace?
PersistentVolumeClaimCondition: 1 type!, 2 status!, 3 lastProbeTime:Time, 4 lastTransitionTime:Time, 5 reason,
  6 message
ModifyVolumeStatus: 1 targetVolumeAttributesClassName, 2 status!
VolumeSource: 1 hostPath?:HostPathVolumeSource, 2 emptyDir?:EmptyDirVolumeSource,
  3 gcePersistentDisk?:GCEPersistentDiskVolumeSource, 4 awsElasticBlockStore?:AWSElasticBlockStoreVolumeSource,
  5 gitRepo?:GitRepoVolumeSource, 6 secret?:SecretVolumeSource, 7 nfs?:NFSVolumeSource, 8 iscsi?:ISCSIVolumeSource,
  9 glusterfs?:GlusterfsVolumeSource, 10 persistentVolumeClaim?:PersistentVolumeClaimVolumeSource,
  11 rbd?:RBDVolumeSource, 12 flexVolume?:FlexVolumeSource, 13 cinder?:CinderVolumeSource,
  14 cephfs?:CephFSVolumeSource, 15 flocker?:FlockerVolumeSource, 16 downwardAPI?:DownwardAPIVolumeSource,
  17 fc?:FCVolumeSource, 18 azureFile?:AzureFileVolumeSource, 19 configMap?:ConfigMapVolumeSource,
  20 vsphereVolume?:VsphereVirtualDiskVolumeSource, 21 quobyte?:QuobyteVolumeSource,
  22 azureDisk?:AzureDiskVolumeSource, 23 photonPersistentDisk?:PhotonPersistentDiskVolumeSource,
  26 projected?:ProjectedVolumeSource, 24 portworxVolume?:PortworxVolumeSource, 25 scaleIO?:ScaleIOVolumeSource,
  27 storageos?:StorageOSVolumeSource, 28 csi?:CSIVolumeSource, 29 ephemeral?:EphemeralVolumeSource,
  30 image?:ImageVolumeSource
GCEPersistentDiskVolumeSource: 1 pdName!, 2 fsType, 3 partition:int, 4 readOnly:bool
AWSElasticBlockStoreVolumeSource: 1 volumeID!, 2 fsType, 3 partition:int, 4 readOnly:bool
HostPathVolumeSource: 1 path!, 2 type?
GlusterfsPersistentVolumeSource: 1 endpoints!, 2 path!, 3 readOnly:bool, 4 endpointsNamespace?
NFSVolumeSource: 1 server!, 2 path!, 3 readOnly:bool
RBDPersistentVolumeSource: 1 monitors*!, 2 image!, 3 fsType, 4 pool, 5 user, 6 keyring, 7 secretRef?:SecretReference,
  8 readOnly:bool
ISCSIPersistentVolumeSource: 1 targetPortal!, 2 iqn!, 3 lun!:int, 4 iscsiInterface, 5 fsType, 6 readOnly:bool,
  7 portals*, 8 chapAuthDiscovery:bool, 11 chapAuthSession:bool, 10 secretRef?:SecretReference, 12 initiatorName?
CinderPersistentVolumeSource: 1 volumeID!, 2 fsType, 3 readOnly:bool, 4 secretRef?:SecretReference
CephFSPersistentVolumeSource: 1 monitors*!, 2 path, 3 user, 4 secretFile, 5 secretRef?:SecretReference,
  6 readOnly:bool
FCVolumeSource: 1 targetWWNs*, 2 lun?:int, 3 fsType, 4 readOnly:bool, 5 wwids*
FlockerVolumeSource: 1 datasetName, 2 datasetUUID
FlexPersistentVolumeSource: 1 driver!, 2 fsType, 3 secretRef?:SecretReference, 4 readOnly:bool, 5 options{}
AzureFilePersistentVolumeSource: 1 secretName!, 2 shareName!, 3 readOnly:bool, 4 secretNamespace?
VsphereVirtualDiskVolumeSource: 1 volumePath!, 2 fsType, 3 storagePolicyName, 4 storagePolicyID
QuobyteVolumeSource: 1 registry!, 2 volume!, 3 readOnly:bool, 4 user, 5 group, 6 tenant
AzureDiskVolumeSource: 1 diskName!, 2 diskURI!, 3 cachingMode?, 4 fsType?, 5 readOnly?:bool, 6 kind?
PhotonPersistentDiskVolumeSource: 1 pdID!, 2 fsType
PortworxVolumeSource: 1 volumeID!, 2 fsType, 3 readOnly:bool
ScaleIOPersistentVolumeSource: 1 gateway!, 2 system!, 3 secretRef?:SecretReference, 4 sslEnabled:bool,
  5 protectionDomain, 6 storagePool, 7 storageMode, 8 volumeName, 9 fsType, 10 readOnly:bool
LocalVolumeSource: 1 path!, 2 fsType?
StorageOSPersistentVolumeSource: 1 volumeName, 2 volumeNamespace, 3 fsType, 4 readOnly:bool,
  5 secretRef?:ObjectReference
CSIPersistentVolumeSource: 1 driver!, 2 volumeHandle!, 3 readOnly:bool, 4 fsType, 5 volumeAttributes{},
  6 controllerPublishSecretRef?:SecretReference, 7 nodeStageSecretRef?:SecretReference,
  8 nodePublishSecretRef?:SecretReference, 9 controllerExpandSecretRef?:SecretReference,
  10 nodeExpandSecretRef?:SecretReference
EmptyDirVolumeSource: 1 medium, 2 sizeLimit?:Quantity
GitRepoVolumeSource: 1 repository!, 2 revision, 3 directory
SecretVolumeSource: 1 secretName, 2 items*:KeyToPath, 3 defaultMode?:int, 4 optional?:bool
ISCSIVolumeSource: 1 targetPortal!, 2 iqn!, 3 lun!:int, 4 iscsiInterface, 5 fsType, 6 readOnly:bool, 7 portals*,
  8 chapAuthDiscovery:bool, 11 chapAuthSession:bool, 10 secretRef?:LocalObjectReference, 12 initiatorName?
GlusterfsVolumeSource: 1 endpoints!, 2 path!, 3 readOnly:bool
PersistentVolumeClaimVolumeSource: 1 claimName!, 2 readOnly:bool
RBDVolumeSource: 1 monitors*!, 2 image!, 3 fsType, 4 pool, 5 user, 6 keyring, 7 secretRef?:LocalObjectReference,
  8 readOnly:bool
FlexVolumeSource: 1 driver!, 2 fsType, 3 secretRef?:LocalObjectReference, 4 readOnly:bool, 5 options{}
CinderVolumeSource: 1 volumeID!, 2 fsType, 3 readOnly:bool, 4 secretRef?:LocalObjectReference
CephFSVolumeSource: 1 monitors*!, 2 path, 3 user, 4 secretFile, 5 secretRef?:LocalObjectReference, 6 readOnly:bool
DownwardAPIVolumeSource: 1 items*:DownwardAPIVolumeFile, 2 defaultMode?:int
AzureFileVolumeSource: 1 secretName!, 2 shareName!, 3 readOnly:bool
ConfigMapVolumeSource: 1 localObjectReference^:LocalObjectReference, 2 items*:KeyToPath, 3 defaultMode?:int,
  4 optional?:bool
ProjectedVolumeSource: 1 sources*!:VolumeProjection, 2 defaultMode?:int
ScaleIOVolumeSource: 1 gateway!, 2 system!, 3 secretRef?:LocalObjectReference, 4 sslEnabled:bool, 5 protectionDomain,
  6 storagePool, 7 storageMode, 8 volumeName, 9 fsType, 10 readOnly:bool
StorageOSVolumeSource: 1 volumeName, 2 volumeNamespace, 3 fsType, 4 readOnly:bool, 5 secretRef?:LocalObjectReference
CSIVolumeSource: 1 driver!, 2 readOnly?:bool, 3 fsType?, 4 volumeAttributes{},
  5 nodePublishSecretRef?:LocalObjectReference
EphemeralVolumeSource: 1 volumeClaimTemplate?:PersistentVolumeClaimTemplate
ImageVolumeSource: 1 reference, 2 pullPolicy
DownwardAPIVolumeFile: 1 path!, 2 fieldRef?:ObjectFieldSelector, 3 resourceFieldRef?:ResourceFieldSelector,
  4 mode?:int
VolumeProjection: 1 secret?:SecretProjection, 2 downwardAPI?:DownwardAPIProjection, 3 configMap?:ConfigMapProjection,
  4 serviceAccountToken?:ServiceAccountTokenProjection, 5 clusterTrustBundle?:ClusterTrustBundleProjection,
  6 podCertificate?:PodCertificateProjection
PersistentVolumeClaimTemplate: 1 metadata:ObjectMeta, 2 spec:PersistentVolumeClaimSpec
ObjectFieldSelector: 1 apiVersion, 2 fieldPath!
ResourceFieldSelector: 1 containerName, 2 resource!, 3 divisor:Quantity
SecretProjection: 1 localObjectReference^:LocalObjectReference, 2 items*:KeyToPath, 4 optional?:bool
DownwardAPIProjection: 1 items*:DownwardAPIVolumeFile
ConfigMapProjection: 1 localObjectReference^:LocalObjectReference, 2 items*:KeyToPath, 4 optional?:bool
ServiceAccountTokenProjection: 1 audience, 2 expirationSeconds?:long, 3 path!
ClusterTrustBundleProjection: 1 name?, 2 signerName?, 3 labelSelector?:LabelSelector, 5 optional?:bool, 4 path!
PodCertificateProjection: 1 signerName, 2 keyType, 3 maxExpirationSeconds?:int, 4 credentialBundlePath, 5 keyPath,
  6 certificateChainPath, 7 userAnnotations{}
`;
