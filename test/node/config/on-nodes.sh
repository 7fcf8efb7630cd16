# Runs containerd's ctr on all nodes: with "all" first it has to succeed on each of them, with "any" on one.
which=$1
shift
jobs=
for socket in {{.Sockets}}; do
  ctr --address "$socket" --namespace k8s.io "$@" &
  jobs="$jobs $!"
done
good=0 bad=0
for job in $jobs; do
  if wait "$job"; then good=$((good + 1)); else bad=$((bad + 1)); fi
done
case $which in
all) [ "$bad" = 0 ] ;;
any) [ "$good" != 0 ] ;;
esac
