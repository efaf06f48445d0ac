#!/usr/bin/env bash
# Public reports tried on jetlag: each case of ../shared/data/reports is run, and what is right is printed beside what came. Each
# folder's README has the source, the input and why that is right; docs/evidence/reports.md has the table.
#
#   scripts/try_reports.sh [CASE...]     cases by number, 03; all without any
#
# JETLAG is the binary; without it, one is built. Ends with 1 where a case differs, and with 0 and a line where there are no cases.
set -uo pipefail
cd "$(dirname "$0")/.."

reports=${JETLAG_SHARED:-$PWD/../shared}/data/reports
if [ ! -d "$reports" ]; then
  echo "try_reports: skipped, since $reports is absent"
  exit 0
fi
if [ -z "${JETLAG:-}" ]; then
  cargo build --release --features full --bin jetlag || exit 1
  JETLAG=$PWD/target/release/jetlag
fi
JETLAG=$(realpath "$JETLAG")
work=$(mktemp -d)
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
# Some cases write beside their input.
cp -rL "$reports" "$work/reports"
chmod -R u+w "$work/reports"
cases=" $* "
differ=0 tried=0

wanted() { [ "$cases" = "  " ] || [[ $cases == *" $1 "* ]]; }

# Into the folder of a case; false where it is not asked for or not there.
enter() {
  wanted "$1" && cd "$work/reports/$1"-* 2>/dev/null
}

# NAME, a regular expression, what came. With ! before the expression it must not match.
right() {
  local name=$1 expected=$2 got is=no
  got=$(tr '\n' ' ' <<<"$3" | tr -s ' ')
  got=${got% }
  tried=$((tried + 1))
  # Of what is right, what matched is shown.
  case $expected in
  '! '*) [[ $got =~ ${expected#! } ]] || is=yes ;;
  *) [[ $got =~ $expected ]] && is=yes got=${BASH_REMATCH[0]} ;;
  esac
  if [ $is = yes ]; then
    printf 'right    %-36s expected %s\n         got %s\n' "$name" "$expected" "${got:0:160}"
  else
    differ=$((differ + 1))
    printf 'DIFFERS  %-36s expected %s\n         got %s\n' "$name" "$expected" "${got:0:1500}"
  fi
}

# What a command says, and its exit code at the end.
said() { "$@" 2>&1 </dev/null; echo "exit code $?"; }

# Runs a scenario for its report.
run() { said "$JETLAG" run "$@" --quiet --force --out "$work/run.mcap"; }

# A network with a reference: equal, or refused when it is loaded, by the operator's name.
network() {
  right "$2 $1" 'exit code 0$|cannot (execute|load).*(node|operator) |whole numbers in 32 bits' \
    "$(cd "$1" && run s.ron | tail -n 12)"
}

# A column of the first detection of the last run.
detection() {
  rm -rf "$work/csv"
  "$JETLAG" export "$work/run.mcap" --format csv -o "$work/csv" >/dev/null 2>&1
  awk -F, -v name="$1" 'NR == 1 { for (n = 1; n <= NF; n++) if ($n == name) column = n } NR == 2 { print $column }' \
    "$work/csv/detections.csv" 2>/dev/null
}

enter 01 && {
  for name in remission intensities; do
    file=pc_$name.mcap
    set_file=(--set "tenants.t.source.path=$file" --set duration=200ms)
    right "01 $name" "the laser.*missing.*x, y, z, $name" "$(run s.ron "${set_file[@]}")"
    right "01 $name, zeros told" "zeros-for-missing.*Ring.*exit code 0" "$(run s.ron "${set_file[@]}" --set tenants.t.missing=Zero)"
    right "01 $name, mean intensity" '^0\.497' "$(detection length_m | awk '{ print log($1) * 2 }')"
  done
  right "01 xyz" "Intensity.*missing.*x, y, z" "$(run s.ron --set tenants.t.source.path=pc_xyz.mcap)"
}
for number in 03 04 05 06 07 08 09 11; do
  enter $number && for net in */; do network "${net%/}" $number; done
done
enter 12 && {
  got=$(said "$JETLAG" init tr_meta.onnx -o o)
  right "12 transposed" 'head: YoloAnchorFree' "$got $(cat o/tr_meta*.ron)"
  right "12 its names" '"c5"|c5' "$(cat o/tr_meta*.ron)"
  got=$(said "$JETLAG" init yolov8_64px80c.onnx -o o)
  right "12 64 pixels, 80 classes" 'head: YoloAnchorFree' "$got $(cat o/yolov8_64px80c*.ron)"
}
enter 13 && right "13 YOLO-NAS" '80 classes without a background.*X1, Y1, X2, Y2' "$(said "$JETLAG" init yolo_nas.onnx -o o) $(cat o/*.ron)"
enter 15 && right "15 YOLO -cls" 'Classifier.*Identity|Identity.*Classifier' \
  "$(said "$JETLAG" init yolov8_cls.onnx -o o) $(cat o/*.ron)"
enter 16 && {
  got=$(said "$JETLAG" inspect simzero.mcap)
  right "16 rate without the gap" '10\.[0-9]+ Hz|9\.[0-9]+ Hz' "$got"
  right "16 the gap is told" '3 (of its )?messages.*(53|19675|1700000000).*from' "$got"
  right "16 the run says so" 'from: "1700000000s"' "$(run s.ron --set tenants.t.missing=Zero)"
  right "16 without the gap" '5[0-9] .*exit code 0$' \
    "$(run s.ron --set tenants.t.missing=Zero --set tenants.t.source.from=1700000000s --set tenants.t.source.repeat=false)"
}
enter 18 && {
  right "18 inspect" 'missing|damaged.*exit code' "$(said "$JETLAG" inspect db3bad)"
  # Its probe takes the laser as well, which this bag does not have.
  right "18 run" 'cannot be read|damaged.*completed.*exit code [04]$' "$(run s.ron --set tenants.t.missing=Zero)"
}
enter 19 && {
  right "19 ROS 1" 'ROS 1' "$(run s.ron)"
  right "19 short name" 'exit code 0$|Ring' "$(run s.ron --set tenants.t.source.path=name_short.mcap --set duration=100ms)"
}
enter 20 && right "20 splits not listed" 'split_0\.mcap.*split_1\.mcap|66.*not (listed|in)' "$(said "$JETLAG" inspect split_lastlisted)"
enter 21 && for kind in nv12 8uc1 8uc3; do
  right "21 $kind" 'exit code 0$' "$(run s.ron --set tenants.t.source.path=img_$kind.mcap --set duration=100ms)"
done
if wanted 23 || wanted 24 || wanted 25; then
  cd "$work/reports"/23-* && J=$JETLAG sh make_nuscenes.sh >/dev/null 2>&1
  wanted 23 && for folder in d1 d2; do
    right "23 $folder" 'points' "$(said "$JETLAG" eval $folder.mcap | grep -iE 'points|ap ')"
  done
  wanted 24 && right "24 advice" "! set the source's .format" "$(run d9.ron)"
  wanted 25 && right "25 no bytes" '0 bytes' "$(run d8.ron --set duration=10min)"
fi
enter 27 && {
  # What finds boxes of the classes p0 to p79 in six grey images of the dataset's names.
  "$JETLAG" init ../12-*/tr_meta.onnx -o o >/dev/null 2>&1
  sed -i 's/"c\([0-9]*\)"/"p\1"/g' o/tr_meta.ron
  mkdir images
  grey=iVBORw0KGgoAAAANSUhEUgAAAEAAAAAwCAAAAACEICPDAAAAJ0lEQVR42u3MMREAAAgEoNfiVjeEmwcBqMlNRyAQCAQCgUAgEDwNFmD5AN+5d/YAAAAAAElFTkSuQmCC
  for number in 0 1 2 3 4 5; do base64 -d <<<$grey >images/00000000000$number.png; done
  run o/tr_meta-scenario.ron --set 'tenants.0.source=Images("../images")' --set duration=500ms >/dev/null
  for file in iscrowd_bool bom string_ids; do
    right "27 $file" 'COCO, still.*p7\.ar100.*exit code 0$' "$(said "$JETLAG" eval "$work/run.mcap" --data $file.json)"
  done
}
enter 28 && {
  got=$(JETLAG_ROOT=$PWD/orin-nano-without-labels said "$JETLAG" doctor)
  right "28 rails without labels" 'channel|unnamed' "$got"
  right "28 no wrong reason" '! no power sensor can be read' "$got"
}
enter 29 && {
  right "29 TensorRT 7" 'p50|ms.*exit code 0' "$(said "$JETLAG" report --from-trtexec times_trt7.json)"
  right "29 new" 'exit code 0$' "$(said "$JETLAG" report --from-trtexec times_new.json)"
}
enter 30 && {
  right "30 LFS" 'git lfs pull' "$(said "$JETLAG" run lfs.onnx)"
  right "30 web page" 'HTML' "$(said "$JETLAG" run html.onnx)"
}
enter 32 && {
  got=$(said "$JETLAG" data convert neg -o "$work/n.mcap")
  right "32 no stump" 'exit code 1 none' "$got $([ -e "$work/n.mcap" ] && echo stump || echo none)"
  head -c 46 ../20-*/*/split_2.mcap >stump.mcap
  right "32 a stump is no run" 'no run and no bag.*cut off.*exit code 2$' "$(said "$JETLAG" inspect stump.mcap)"
}

echo "$tried tried, $differ differ"
[ "$differ" = 0 ]
