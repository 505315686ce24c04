trap 'echo caught >>caught' USR1
trap 'echo ended >>caught; exit 3' TERM
: >ready
while :; do sleep 0.05; done
