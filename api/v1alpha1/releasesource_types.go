package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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

// ReleaseSourceSpec says where to read releases and how often.
type ReleaseSourceSpec struct {
	// URL of the repository: https://, ssh:// or user@host:path; http:// and file:// only where
	// the controller allows them.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	URL string `json:"url"`

	// Ref says what to follow.
	// +kubebuilder:default={branch: main}
	// +optional
	Ref GitReference `json:"ref,omitempty"`

	// Path is the folder to read, relative to the root of the repository.
	// +kubebuilder:default="."
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Path string `json:"path,omitempty"`

	// Ignore lists files and folders that are not read, as lines of a .gitignore from the root of the repository. They go
	// before those of .sluiceignore files in the repository: a line that begins with ! reads again what these ignore.
	// +kubebuilder:validation:MaxItems=100
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=256
	// +kubebuilder:validation:items:Pattern=`^!?[^!#\s].*$`
	// +listType=atomic
	// +optional
	Ignore []string `json:"ignore,omitempty"`

	// Interval between two reads of the branch, spread by up to a tenth. Default 1m, at least 1s.
	// +kubebuilder:default="1m"
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1s')",message="must be at least 1s"
	// +optional
	Interval metav1.Duration `json:"interval,omitzero"`

	// Timeout for one poll or one fetch of the repository. Default 60s; more than 2m counts as 2m, so that a server
	// that hangs does not delay other sources.
	// +kubebuilder:default="60s"
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1s') && duration(self) <= duration('1h')",message="must be from 1s to 1h"
	// +optional
	Timeout metav1.Duration `json:"timeout,omitzero"`

	// SecretRef names a Secret in the same namespace. For https: username and password (or
	// bearerToken, or appID and privateKey of a GitHub App), and ca.crt. For ssh: identity (private
	// key), identity.password, known_hosts.
	// +optional
	SecretRef *LocalReference `json:"secretRef,omitempty"`

	// ServiceAccountName is the account in the same namespace that writes everything from this source. Default: the
	// controller's own, or its --default-service-account.
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^(|[a-z0-9]+((-+|[.])[a-z0-9]+)*)$`
	// +optional
	ServiceAccountName string `json:"serviceAccountName,omitempty"`

	// Forge is the server that decides pullRequest, commitStatus and checkRun gates and shows progress. Without it, a
	// pullRequest gate passes by its record on the branch alone.
	// +optional
	Forge *Forge `json:"forge,omitempty"`

	// WebhookSecretRef names a Secret in the same namespace with the secret of the repository's webhook under secret;
	// a second one under secret.next counts too, so that it can be rotated without a gap. Without it, no webhook is
	// accepted for this source.
	// +optional
	WebhookSecretRef *LocalReference `json:"webhookSecretRef,omitempty"`

	// Prune deletes releases that were removed from the repository, but never all of them at once.
	// +optional
	Prune bool `json:"prune,omitempty"`

	// DeletionPolicy says what happens to the releases when this object is deleted. Delete deletes them too, and each
	// hands its workload back first; Orphan keeps them. Default Delete.
	// +kubebuilder:default=Delete
	// +optional
	DeletionPolicy SourceDeletionPolicy `json:"deletionPolicy,omitempty"`

	// AllowRewrite follows the branch even if its head does not descend from the last one that was read.
	// +optional
	AllowRewrite bool `json:"allowRewrite,omitempty"`

	// Suspend stops reading the repository.
	// +optional
	Suspend bool `json:"suspend,omitempty"`
}

// SourceDeletionPolicy says what happens to the releases of a source that is deleted.
//
// +kubebuilder:validation:Enum=Delete;Orphan
type SourceDeletionPolicy string

// The deletion policies of a source.
const (
	SourceDelete SourceDeletionPolicy = "Delete"
	SourceOrphan SourceDeletionPolicy = "Orphan"
)

// GitReference says what to follow.
type GitReference struct {
	// Branch to follow, without refs/heads/.
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
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
}

// ForgeType names the API of a forge.
//
// +kubebuilder:validation:Enum=GitHub
type ForgeType string

// ForgeGitHub is the REST API of github.com and GitHub Enterprise Server.
const ForgeGitHub ForgeType = "GitHub"

// Forge says which repository on which server, and as whom.
type Forge struct {
	// Type of the API. Default GitHub.
	// +kubebuilder:default=GitHub
	// +optional
	Type ForgeType `json:"type,omitempty"`

	// BaseURL is the root of a GitHub Enterprise Server. Default: github.com. It must begin with
	// https://; http:// is for loopback addresses, and only where the controller allows them.
	// +kubebuilder:validation:MaxLength=2048
	// +optional
	BaseURL string `json:"baseURL,omitempty"`

	// Owner of the repository: a user or an organization.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=100
	Owner string `json:"owner"`

	// Repo is the name of the repository.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=100
	Repo string `json:"repo"`

	// SecretRef names a Secret in the same namespace: token, or appID and privateKey (PEM) of a GitHub App, and
	// optionally installationID, which saves a lookup. ca.crt holds certificates (PEM) to trust beside the system's.
	SecretRef LocalReference `json:"secretRef"`

	// Interval between two checks of what a gate waits for on the forge, if no webhook arrives; spread by up to a
	// tenth. Default 1m, at least 5s.
	// +kubebuilder:default="1m"
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('5s')",message="must be at least 5s"
	// +optional
	Interval metav1.Duration `json:"interval,omitzero"`

	// Environment shows each release as a deployment to the environment of this name. Default: no deployments.
	// +kubebuilder:validation:MaxLength=255
	// +optional
	Environment string `json:"environment,omitempty"`
}

// ReleaseSourceStatus is what was last read from the repository.
type ReleaseSourceStatus struct {
	// ObservedCommit is the last commit that was read, and applied except for what Errors and Refused list.
	// +optional
	ObservedCommit string `json:"observedCommit,omitempty"`
	// ObservedTree is the tree of ObservedCommit.
	// +optional
	ObservedTree string `json:"observedTree,omitempty"`
	// Approvals are the records on the branch, as of ObservedCommit, of the releases that wait for one.
	// +listType=atomic
	// +optional
	Approvals []ApprovalRecord `json:"approvals,omitempty"`
	// Report is what was last reported to the forge about this source: that a commit has invalid files.
	// +optional
	Report *ForgeReport `json:"report,omitempty"`
	// RefusedHead is the head of the branch if Sluice refuses to read it, because it does not descend from
	// ObservedCommit; unset otherwise.
	// +optional
	RefusedHead string `json:"refusedHead,omitempty"`
	// Unread says that Sluice can't read the newest commit until somebody changes something. All releases stay as they are.
	// +optional
	Unread bool `json:"unread,omitempty"`
	// Refused lists the releases, as namespace/name, that are not as ObservedCommit has them: a file of them is
	// invalid, or the API server refuses a write. It lists the first 500.
	// +kubebuilder:validation:MaxItems=500
	// +listType=set
	// +optional
	Refused []string `json:"refused,omitempty"`
	// Accounts are the accounts that the gates' policies named when Sluice first read them: a name can change hands, a
	// number can't. A name keeps meaning the same account.
	// +kubebuilder:validation:MaxItems=500
	// +listType=map
	// +listMapKey=kind
	// +listMapKey=name
	// +optional
	Accounts []NamedAccount `json:"accounts,omitempty"`
	// LastSyncTime is when ObservedCommit was applied.
	// +optional
	LastSyncTime *metav1.Time `json:"lastSyncTime,omitempty"`
	// LastHandledSyncAt is the last value of the annotation rollouts.sluice.dev/requestedAt that was acted on.
	// +optional
	LastHandledSyncAt string `json:"lastHandledSyncAt,omitempty"`
	// Files is how many manifest files were read.
	// +optional
	Files int32 `json:"files,omitempty"`
	// Releases is how many BatchReleases the repository holds.
	// +optional
	Releases int32 `json:"releases,omitempty"`
	// Errors in the files, the first 50.
	// +listType=atomic
	// +optional
	Errors []FileError `json:"errors,omitempty"`
	// ErrorCount is how many there are in total.
	// +optional
	ErrorCount int32 `json:"errorCount,omitempty"`
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// AccountKind says whether a name in a policy is a user's, an app's or a team's.
//
// +kubebuilder:validation:Enum=User;App;Team
type AccountKind string

// The types of account: people and programs that approve, push or post, apps that make checks, and
// teams.
const (
	AccountUser AccountKind = "User"
	AccountApp  AccountKind = "App"
	AccountTeam AccountKind = "Team"
)

// NamedAccount is the account that a name meant when Sluice first read it.
type NamedAccount struct {
	Kind AccountKind `json:"kind"`
	// Name in lower case. A team's is organization/slug.
	Name string `json:"name"`
	// ID is the forge's number of the account, app or team.
	ID int64 `json:"id"`
}

// FileError is what is wrong with a file of the repository.
type FileError struct {
	// File is the path from the root of the repository.
	File string `json:"file"`
	// Line counts from 1; 0 where no line can be named.
	// +optional
	Line int32 `json:"line,omitempty"`
	// Message says what is wrong.
	Message string `json:"message"`
}

// ApprovalRecord is the content of a file in .sluice/approvals. It passes only the gate with the same nonce.
type ApprovalRecord struct {
	// Namespace and Release name the BatchRelease.
	Namespace string `json:"namespace"`
	Release   string `json:"release"`
	// Revision is the pod template hash.
	Revision string `json:"revision"`
	// Commit brought the revision.
	// +optional
	Commit string `json:"commit,omitempty"`
	// Step is the index of the step after which the gate stands.
	Step int32 `json:"step"`
	// Nonce of the gate.
	Nonce string `json:"nonce"`
	// Blob is Git's hash of the file, if it was read from Git.
	// +optional
	Blob string `json:"blob,omitempty"`
}
