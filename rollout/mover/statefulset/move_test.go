package statefulset

import (
	"testing"

	"github.com/sluice-dev/sluice/rollout/mover/inplace"
)

func TestPodsAreUpdatedThroughAWindow(t *testing.T) {
	t.Parallel()
	replace := func(names string) []string { return []string{"replace " + names} }
	open := func(partition string) []string { return []string{"open the partition to " + partition} }
	closes := []string{"close the partition"}
	checkMoves(t, map[string]moved{
		"the partition comes first": {held("11111"), open("4")},
		"then the pod goes":         {held("11111").open(4), replace("db-4")},
		"a pod does not go before the native controller has seen the partition: it would come back old": {
			held("11111").open(4).but(func(s *scene) { s.Observed = false }), nil,
		},
		"the partition stays open while the pod is going away": {held("1111t").open(4), nil},
		"... and until there is another one":                   {held("1111-").open(4), nil},
		"it is closed as soon as there is one":                 {held("1111b").open(4), closes},
		"at the target nothing is done":                        {held("11112"), nil},
		"beyond it neither":                                    {held("11122"), nil},
		"the highest go first":                                 {held("11111").open(3).target(2).unavailable(2), replace("db-4, db-3")},
		"no more go than may be unavailable":                   {held("11111").target(3).unavailable(2), open("3")},
		"a pod that is not available leaves less room":         {held("a1111").target(3).unavailable(2), open("4")},
		"... or none": {held("a1111").target(3), nil},
		"one that is not available goes whatever the room":     {held("a111a").target(3), open("4")},
		"... and counts once":                                  {held("1111a").target(3).unavailable(2), open("3")},
		"an updated pod that is not available is not replaced": {held("1111b").target(3), nil},
		"... and leaves less room":                             {held("1111b").target(3).unavailable(2), open("3")},
		"one that is missing is updated as it comes back":      {held("1111-"), open("4")},
		"one that is going away too":                           {held("1111t"), open("4")},
		"the window reaches no pod that the native controller would replace beside those": {
			held("11211").open(2).target(2), open("4"),
		},
		"an open window grows as more pods may go":          {held("1111t").open(4).target(3).unavailable(2), open("3")},
		"... and is not narrowed while all in it is wanted": {held("1112t").open(3).target(2).unavailable(2), nil},
		"a pod in it for which there is no room any more is spared": {
			held("a111t").open(3).target(2).unavailable(2), open("4"),
		},
		"it stays open while the rest follows, if that is all": {held("1111b").open(4).target(5), nil},
		"... until all are updated":                            {held("22b22").open(0).target(5), closes},
		"a window beyond the replicas is closed":               {held("111").open(4).target(0), closes},
		"a window that nobody needs is closed":                 {held("11111").open(4).target(0), closes},
		"an updated pod that is lost comes back updated": {
			held("1112u").target(2), open("4"),
		},
		"... below others too":                                     {held("11u22").target(3), open("2")},
		"... but not below one that stays as it is":                {held("1u1").target(1), nil},
		"pods of somebody else's template go like those of v1":     {held("111").open(2).but(func(s *scene) { s.Pods[2].Revision = "v0" }), replace("db-2")},
		"many pods are named by their first":                       {held("111111").open(0).target(6).unavailable(6), replace("db-5, db-4, db-3 and 3 more")},
		"nothing is done by what is known of another template":     {held("111").but(func(s *scene) { s.Task.Digest = "digest-v3" }), nil},
		"nothing is done if the pods are not known":                {held("111").but(func(s *scene) { s.Listed = false }), nil},
		"nothing is done for more pods than a cluster can have":    {held("111").but(func(s *scene) { s.Mover.Replicas = 1 << 30 }), nil},
		"nothing is done while somebody else has the partition":    {held("111").but(func(s *scene) { s.Partition = 0 }), nil},
		"nothing is done while the native controller is let loose": {held("111").but(func(s *scene) { s.RollingUpdate = false }), nil},
	})
}

func TestPodsInOrder(t *testing.T) {
	t.Parallel()
	checkMoves(t, map[string]moved{
		"as many go at once as may be unavailable": {
			held("11111").open(3).target(2).unavailable(2).but(ordered), []string{"replace db-4, db-3"},
		},
		"no available pod goes while the native controller would not make it again": {
			held("1a111").target(3).unavailable(3).but(ordered), nil,
		},
		"... nor while others are yet to come back": {
			held("111b-").open(3).target(3).unavailable(3).but(ordered), nil,
		},
		"a pod that is not available goes, and others with it": {
			held("1111a").target(2).unavailable(2).but(ordered), []string{"open the partition to 3"},
		},
	})
}

func TestRollbackInMidRelease(t *testing.T) {
	t.Parallel()
	back := func(pods string) *scene {
		s := held(pods).but(sameRevision).but(rollback)
		return s.target(s.Mover.Replicas)
	}
	checkMoves(t, map[string]moved{
		"pods go without a window, those that are not available first": {back("2a2a1").unavailable(2), []string{"replace db-3, db-1"}},
		"then the highest":                                {back("22121").unavailable(2), []string{"replace db-4, db-2"}},
		"within the room":                                 {back("22121"), []string{"replace db-4"}},
		"a window that is open is closed":                 {back("22121").open(3), []string{"close the partition"}},
		"a broken pod does not block the rest":            {back("22a--").but(ordered), []string{"replace db-2"}},
		"... whatever the step is, if others wait for it": {back("22a-").target(1).but(ordered), []string{"replace db-2"}},
		"... and no other goes before it is available":    {back("21b22").unavailable(2).but(ordered), nil},
		"pods that are missing come back by themselves":   {back("22--2"), nil},
	})
}

func TestPodsThatDoNotServeBelowThoseThatDo(t *testing.T) {
	t.Parallel()
	all := func(pods string) *scene { return held(pods).target(int32(len(pods))) }
	const anywhere, closes = "set the update strategy OnDelete", "close the partition"
	open := func(s *scene) { s.RollingUpdate, s.Partition, s.Window = false, 0, inplace.Anywhere }
	checkMoves(t, map[string]moved{
		"if all pods are to be updated they go first: the native controller is kept from replacing others": {all("1a11"), []string{anywhere}},
		"... then":                                           {all("1a11").but(open), []string{"replace db-1"}},
		"... in order too":                                   {all("1a11").but(open).but(ordered), []string{"replace db-1"}},
		"... and then the highest":                           {all("1211").but(open), []string{"replace db-3"}},
		"while they come back the rest waits":                {all("1t11").but(open), nil},
		"it stays so until all are updated":                  {all("1b22").but(open), nil},
		"... and there":                                      {all("2u22").but(open), nil},
		"then the partition is closed":                       {all("2b22").but(open), []string{closes}},
		"it is closed if not all are to be updated any more": {all("1u11").but(open).target(3), []string{closes}},
		"... or if updated pods are to go back":              {all("1222").but(open).target(1).but(steppingBack), []string{closes}},
		"in a step that is not the last it would make other pods new: they wait": {held("1a11").target(3), nil},
		"... not so in a rollback":                         {held("1a11").target(1).but(rollback), []string{anywhere}},
		"... where it ends with the step":                  {held("1b11").target(1).but(rollback).but(open), []string{closes}},
		"a pod that is going away comes back by itself":    {all("1t11"), nil},
		"where the highest may go there is no need":        {all("1a11").unavailable(2), []string{"open the partition to 3"}},
		"a release that stands waits for what was deleted": {all("1-11").but(open).stands(), nil},
		"... and then closes":                              {all("1b11").but(open).stands(), []string{closes}},
		"... at once if not all are to be updated":         {all("1-11").but(open).target(3).stands(), []string{closes}},
	})
}

func TestUpdatedPodsGoBack(t *testing.T) {
	t.Parallel()
	checkMoves(t, map[string]moved{
		"beyond the step they stay":                           {held("11222"), nil},
		"they go while the step waits for a gate":             {held("11222").unavailable(2).but(blocked), []string{"replace db-2, db-3: back"}},
		"they go where the step was jumped back to":           {held("11222").but(steppingBack), []string{"replace db-2: back"}},
		"... not where the release stands":                    {held("11222").but(steppingBack).stands(), nil},
		"the window is closed first":                          {held("112b-").open(4).but(blocked), []string{"close the partition"}},
		"those that are not available go first, and are free": {held("1122b").target(2).but(blocked), []string{"replace db-4: back"}},
		"there is no room for others":                         {held("a1222").target(2).but(blocked), nil},
		"while they go away no more go":                       {held("112u2").target(2).unavailable(2).but(blocked), nil},
		"a rollback has none that are too many":               {held("11222").but(rollback).but(blocked), nil},
		"where pods come back updated none can go back":       {held("11222").but(sameRevision).but(blocked), nil},
		"in order one goes after the other":                   {held("11b22").target(1).unavailable(3).but(blocked).but(ordered), []string{"replace db-2, db-3: back"}},
	})
}

func TestScaling(t *testing.T) {
	t.Parallel()
	checkMoves(t, map[string]moved{
		"new pods come in the old version: the highest of them is updated": {held("112").scaledTo(5).target(2), []string{"open the partition to 4"}},
		"those that a window let in go back; first it is closed": {
			held("111t").open(3).scaledTo(6), []string{"close the partition"},
		},
		"... then they go": {held("1112bb").scaledTo(7).target(1).but(func(s *scene) { s.Pods = append(s.Pods, pod(6, '1')) }), []string{"replace db-5, db-4: back"}},
		"... not those that the gates let through": {
			held("1112b").scaledTo(6).target(1).but(func(s *scene) { s.Reach = 2; s.Pods = append(s.Pods, pod(5, '1')) }), nil,
		},
		"pods beyond the replicas are nobody's": {held("112").scaledTo(2).target(1), []string{"open the partition to 1"}},
		"with none there is nothing to do":      {held("12").scaledTo(0).target(0), nil},
		"... but the window to close":           {held("12").open(1).scaledTo(0).target(0), []string{"close the partition"}},
	})
}

func TestAReleaseThatStands(t *testing.T) {
	t.Parallel()
	checkMoves(t, map[string]moved{
		"no pod is updated":                                              {held("11111").stands(), nil},
		"a window that is needed stays open":                             {held("1111t").open(4).stands(), nil},
		"one with a pod that has not gone yet is closed":                 {held("11111").open(4).stands(), []string{"close the partition"}},
		"it is narrowed to those that are to come back":                  {held("1111t").open(3).target(2).stands(), []string{"open the partition to 4"}},
		"it is closed if the highest has not gone yet":                   {held("111t1").open(3).target(2).stands(), []string{"close the partition"}},
		"an updated pod that is lost comes back updated":                 {held("1111u").stands(), []string{"open the partition to 4"}},
		"... but no other":                                               {held("1111t").stands(), nil},
		"... unless it is too many":                                      {held("111u2").stands(), nil},
		"updated pods beyond the step go back while it waits for a gate": {held("11122").stands().but(blocked), []string{"replace db-3: back"}},
	})
}

// TestOnlyANarrowerPartitionNeedsNoCounts: a wider one, and one with which the native controller
// begins to replace pods itself, rests on what there is.
func TestOnlyANarrowerPartitionNeedsNoCounts(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		scene        *scene
		want, tidies bool
	}{
		"opened":             {held("11111"), false, false},
		"widened":            {held("1111t").open(4).target(3).unavailable(2), false, false},
		"replaced":           {held("11111").open(4), false, false},
		"narrowed":           {held("a111t").open(3).target(2).unavailable(2), true, false},
		"closed":             {held("1111b").open(4), true, true},
		"closed over others": {held("1111b").open(3), true, false},
		"closed at the end":  {held("bbbbb").open(4).target(5), true, true},
		"closed at a step":   {held("1bbbb").open(4).target(4), true, true},
		"from OnDelete":      {held("1111b").open(inplace.Anywhere), false, false},
	} {
		got := test.scene.Move(test.scene.Task)
		if got.Narrows != test.want || got.Tidies != test.tidies || len(got.Grow) == 0 {
			t.Errorf("%s: narrows is %t and tidies %t, want %t and %t: %v", name, got.Narrows, got.Tidies, test.want, test.tidies, got.Grow)
		}
		if _, deletes := got.Grow[0].(inplace.Replace); got.Guarded == deletes {
			t.Errorf("%s: guarded by the workload is %t: %v", name, got.Guarded, got.Grow)
		}
	}
}
