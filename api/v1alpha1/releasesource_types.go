package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// ReleaseSource is a Git repository to release from.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=rsrc,categories=sluice
// +kubebuilder:printcolumn:name="URL",type=string,JSONPath=`.spec.url`
// +kubebuilder:printcolumn:name="Branch",type=string,JSONPath=`.spec.ref.branch`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Commit",type=string,JSONPath=`.status.observedCommit`
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
// +kubebuilder:printcolumn:name="Forge",type=string,JSONPath=`.status.conditions[?(@.type=="ForgeReady")].status`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`,priority=1
// +kubebuilder:validation:XValidation:rule="size(self.metadata.name) <= 63",message="the name must be at most 63 characters: it is a label of what comes from the source"
type ReleaseSource struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   ReleaseSourceSpec   `json:"spec"`
	Status ReleaseSourceStatus `json:"status,omitempty"`
}

// ReleaseSourceList is a list of ReleaseSources.
//
// +kubebuilder:object:root=true
type ReleaseSourceList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ReleaseSource `json:"items"`
}

// ReleaseSourceSpec defines the repository to read, and the interval.
//
// +kubebuilder:validation:XValidation:rule="!has(self.verify) || !has(self.verify.keys.file) || !has(self.allowRewrite) || !self.allowRewrite",message="verify.keys.file can't be used with allowRewrite: a rewritten branch could bring back a key that was taken away"
type ReleaseSourceSpec struct {
	// URL is the URL of the repository: https://, ssh:// or user@host:path; http:// and file:// only
	// if the controller allows them.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	URL string `json:"url"`

	// Ref is the Git reference to follow.
	// +kubebuilder:default={branch: main}
	// +optional
	Ref GitReference `json:"ref,omitempty"`

	// Path is the folder to read, relative to the root of the repository.
	// +kubebuilder:default="."
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Path string `json:"path,omitempty"`

	// Ignore lists files and folders to ignore, as lines of a .gitignore from the root of the
	// repository. They go before the lines of .sluiceignore files in the repository: a line there that
	// begins with ! includes a path again.
	// +kubebuilder:validation:MaxItems=100
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=256
	// +kubebuilder:validation:items:Pattern=`^!?[^!#\s].*$`
	// +listType=atomic
	// +optional
	Ignore []string `json:"ignore,omitempty"`

	// Helm renders the Helm chart in path.
	// +optional
	Helm *HelmChart `json:"helm,omitempty"`

	// Interval is the time between two reads of the branch, spread by up to a tenth. Default 1m, at
	// least 1s.
	// +kubebuilder:default="1m"
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1s')",message="must be at least 1s"
	// +optional
	Interval metav1.Duration `json:"interval,omitzero"`

	// Timeout is the timeout of one poll or one fetch of the repository. Default 60s; more than 2m
	// counts as 2m, so that a server that hangs does not delay other sources.
	// +kubebuilder:default="60s"
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1s') && duration(self) <= duration('1h')",message="must be from 1s to 1h"
	// +optional
	Timeout metav1.Duration `json:"timeout,omitzero"`

	// SecretRef names a Secret in the same namespace. For https: username and password (or
	// bearerToken, or appID and privateKey of a GitHub App), and ca.crt. For ssh: identity (private
	// key), identity.password, known_hosts.
	// +optional
	SecretRef *LocalReference `json:"secretRef,omitempty"`

	// ServiceAccountName is the account in the same namespace that writes everything from this source.
	// Default: the controller's own, or its --default-service-account.
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^(|[a-z0-9]+((-+|[.])[a-z0-9]+)*)$`
	// +optional
	ServiceAccountName string `json:"serviceAccountName,omitempty"`

	// Forge is the server that decides pullRequest, commitStatus and checkRun gates and shows
	// progress. Without it, a pullRequest gate passes by its record on the branch alone.
	// +optional
	Forge *Forge `json:"forge,omitempty"`

	// Verify defines the signatures that commits need. Default: none.
	// +optional
	Verify *Verify `json:"verify,omitempty"`

	// WebhookSecretRef names a Secret in the same namespace with the secret of the repository's
	// webhook under secret. A second one under secret.next counts too, for a rotation without a gap.
	// Without it, no webhook is accepted for this source.
	// +optional
	WebhookSecretRef *LocalReference `json:"webhookSecretRef,omitempty"`

	// Prune deletes releases that are no longer in the repository, but never all of them at once.
	// +optional
	Prune bool `json:"prune,omitempty"`

	// DeletionPolicy defines the fate of the releases when this object is deleted. Delete deletes them
	// too, and each hands its workload back first; Orphan keeps them. Default Delete.
	// +kubebuilder:default=Delete
	// +optional
	DeletionPolicy SourceDeletionPolicy `json:"deletionPolicy,omitempty"`

	// AllowRewrite follows the branch even if its head does not descend from the last one read.
	// +optional
	AllowRewrite bool `json:"allowRewrite,omitempty"`

	// Suspend stops reading the repository.
	// +optional
	Suspend bool `json:"suspend,omitempty"`
}

// DefaultKubeVersion is the Kubernetes version for which a chart is rendered that names none.
const DefaultKubeVersion = "1.37.0"

// HelmChart defines the release for which a chart is rendered. Nothing else goes into the result,
// so that the same commit always makes the same manifests.
type HelmChart struct {
	// ReleaseName is the name of the Helm release.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=53
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	ReleaseName string `json:"releaseName"`

	// ValuesFiles are paths in the repository, relative to the chart. Later ones override earlier
	// ones.
	// +kubebuilder:validation:MaxItems=50
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=1024
	// +listType=atomic
	// +optional
	ValuesFiles []string `json:"valuesFiles,omitempty"`

	// Values override those of ValuesFiles.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Type=object
	// +mapType=atomic
	// +kubebuilder:validation:Schemaless
	// +optional
	Values *runtime.RawExtension `json:"values,omitempty"`

	// KubeVersion is the version of Kubernetes that the chart sees. Default 1.37.0.
	// +kubebuilder:default="1.37.0"
	// +kubebuilder:validation:Pattern=`^v?1\.[0-9]{1,3}(\.[0-9]{1,3})?$`
	// +optional
	KubeVersion string `json:"kubeVersion,omitempty"`
}

// SourceDeletionPolicy defines the fate of the releases of a deleted source.
//
// +kubebuilder:validation:Enum=Delete;Orphan
type SourceDeletionPolicy string

// The deletion policies of a source.
const (
	SourceDelete SourceDeletionPolicy = "Delete"
	SourceOrphan SourceDeletionPolicy = "Orphan"
)

// GitReference is the Git reference to follow.
type GitReference struct {
	// Branch is the branch to follow, without refs/heads/.
	// +kubebuilder:default=main
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:validation:Pattern=`^[^\x00-\x20\x7f~^:?*\[\\-][^\x00-\x20\x7f~^:?*\[\\]*$`
	// +kubebuilder:validation:XValidation:rule="!self.contains('..') && !self.contains('@{') && !self.matches('(^|/)([.]|@?(/|$))|[.](lock)?(/|$)')",message="is not the name of a branch by git-check-ref-format"
	// +optional
	Branch string `json:"branch,omitempty"`
}

// LocalReference names an object in the same namespace.
type LocalReference struct {
	// Name is the name of the object.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
}

// ForgeType is the API of a forge.
//
// +kubebuilder:validation:Enum=GitHub;Gitea;GitLab
type ForgeType string

// The types of forge.
const (
	// ForgeGitHub is the REST API of github.com and GitHub Enterprise Server.
	ForgeGitHub ForgeType = "GitHub"
	// ForgeGitea is the REST API of Gitea and Forgejo.
	ForgeGitea ForgeType = "Gitea"
	// ForgeGitLab is the REST API of gitlab.com and other GitLab servers.
	ForgeGitLab ForgeType = "GitLab"
)

// Forge names the repository, its server, and the credentials.
//
// +kubebuilder:validation:XValidation:rule="self.type != 'Gitea' || has(self.baseURL)",message="baseURL is required for type Gitea"
// +kubebuilder:validation:XValidation:rule="self.type == 'GitHub' || !has(self.environment)",message="environment is for type GitHub: others have no deployments"
type Forge struct {
	// Type is the type of the API. Default GitHub.
	// +kubebuilder:default=GitHub
	// +optional
	Type ForgeType `json:"type,omitempty"`

	// BaseURL is the address of the server. Default for GitHub: github.com; for GitLab: gitlab.com. It
	// must begin with https://; http:// is for loopback addresses, and only if the controller allows
	// them.
	// +kubebuilder:validation:MaxLength=2048
	// +optional
	BaseURL string `json:"baseURL,omitempty"`

	// Owner is the owner of the repository: a user, an organization, or the path of a group, such as
	// shop/apps.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	Owner string `json:"owner"`

	// Repo is the name of the repository.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=100
	Repo string `json:"repo"`

	// SecretRef names a Secret in the same namespace: token, or appID and privateKey (PEM) of a GitHub
	// App, and optionally installationID, which saves a lookup. ca.crt holds certificates (PEM) to
	// trust in addition to the system's.
	SecretRef LocalReference `json:"secretRef"`

	// Interval is the time between two checks of a gate's evidence on the forge, if no webhook
	// arrives; spread by up to a tenth. While webhooks arrive, it is 24 times as long. Default 5m, at
	// least 5s.
	// +kubebuilder:default="5m"
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('5s')",message="must be at least 5s"
	// +optional
	Interval metav1.Duration `json:"interval,omitzero"`

	// Environment is the name of the environment in which the forge shows each release as a
	// deployment. Default: no deployments.
	// +kubebuilder:validation:MaxLength=255
	// +optional
	Environment string `json:"environment,omitempty"`
}

// ReleaseSourceStatus is the most recently observed state of the repository.
type ReleaseSourceStatus struct {
	// ObservedCommit is the last commit that was read and applied, except for the objects in Errors
	// and Refused.
	// +optional
	ObservedCommit string `json:"observedCommit,omitempty"`
	// ObservedTree is the tree of ObservedCommit.
	// +optional
	ObservedTree string `json:"observedTree,omitempty"`
	// Approvals are the records on the branch, as of ObservedCommit, of the releases that wait for
	// one.
	// +listType=atomic
	// +optional
	Approvals []ApprovalRecord `json:"approvals,omitempty"`
	// Verified lists the last 20 heads that were verified, newest first.
	// +kubebuilder:validation:MaxItems=20
	// +listType=atomic
	// +optional
	Verified []Verification `json:"verified,omitempty"`
	// VerifyKeys is the content of spec.verify.keys.file at the commit verified last. Its keys count
	// for the next one.
	// +kubebuilder:validation:MaxLength=32768
	// +optional
	VerifyKeys string `json:"verifyKeys,omitempty"`
	// Report is the last report to the forge about this source: that a commit has invalid files.
	// +optional
	Report *ForgeReport `json:"report,omitempty"`
	// RefusedHead is the head of the branch if Sluice refuses to read it, because it does not descend
	// from ObservedCommit; unset otherwise.
	// +optional
	RefusedHead string `json:"refusedHead,omitempty"`
	// Unread means that Sluice can't read the newest commit until a user changes something. All
	// releases stay as they are.
	// +optional
	Unread bool `json:"unread,omitempty"`
	// Refused lists the first 500 releases, as namespace/name, that differ from ObservedCommit: one of
	// their files is invalid, or the API server refuses a write.
	// +kubebuilder:validation:MaxItems=500
	// +listType=set
	// +optional
	Refused []string `json:"refused,omitempty"`
	// Accounts are the accounts of the names in gate policies when Sluice first read them. A name can
	// change hands, a number can't; a name here keeps its account.
	// +kubebuilder:validation:MaxItems=500
	// +listType=map
	// +listMapKey=kind
	// +listMapKey=name
	// +optional
	Accounts []NamedAccount `json:"accounts,omitempty"`
	// LastSyncTime is the time at which ObservedCommit was applied.
	// +optional
	LastSyncTime *metav1.Time `json:"lastSyncTime,omitempty"`
	// LastHandledSyncAt is the last handled value of the annotation rollouts.sluice.dev/requestedAt.
	// +optional
	LastHandledSyncAt string `json:"lastHandledSyncAt,omitempty"`
	// Files is the number of manifest files that were read.
	// +optional
	Files int32 `json:"files,omitempty"`
	// Releases is the number of BatchReleases in the repository.
	// +optional
	Releases int32 `json:"releases,omitempty"`
	// Errors are the errors in the files, the first 50.
	// +listType=atomic
	// +optional
	Errors []FileError `json:"errors,omitempty"`
	// ErrorCount is the total number of errors.
	// +optional
	ErrorCount int32 `json:"errorCount,omitempty"`
	// ObservedGeneration is the generation of the spec that this status describes.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Conditions are the conditions; docs/reasons.md explains each.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// AccountKind is the kind of account of a name in a policy: a user, an app or a team.
//
// +kubebuilder:validation:Enum=User;App;Team
type AccountKind string

// The types of account: users and programs that approve, push or post, apps that make checks, and
// teams.
const (
	AccountUser AccountKind = "User"
	AccountApp  AccountKind = "App"
	AccountTeam AccountKind = "Team"
)

// NamedAccount is the account of a name when Sluice first read it.
type NamedAccount struct {
	Kind AccountKind `json:"kind"`
	// Name is the name in lower case. A team's is organization/slug.
	Name string `json:"name"`
	// ID is the forge's number of the account, app or team.
	ID int64 `json:"id"`
}

// FileError is an error in a file of the repository.
type FileError struct {
	// File is the path from the root of the repository.
	File string `json:"file"`
	// Line is the line of the error, from 1; 0 if unknown.
	// +optional
	Line int32 `json:"line,omitempty"`
	// Message is a human readable description of the error.
	Message string `json:"message"`
}

// ApprovalRecord is the content of a file in .sluice/approvals. It passes only the gate with the
// same nonce.
type ApprovalRecord struct {
	// Namespace and Release name the BatchRelease.
	Namespace string `json:"namespace"`
	Release   string `json:"release"`
	// Revision is the pod template hash.
	Revision string `json:"revision"`
	// Commit is the commit that brought the revision.
	// +optional
	Commit string `json:"commit,omitempty"`
	// Step is the index of the step before the gate.
	Step int32 `json:"step"`
	// Nonce is the nonce of the gate.
	Nonce string `json:"nonce"`
	// Blob is Git's hash of the file, if it was read from Git.
	// +optional
	Blob string `json:"blob,omitempty"`
}
