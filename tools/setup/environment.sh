#!/usr/bin/env bash
# Finds or makes the build environment. Two modes:
#   native       the system has Dawn's CMake package and a recent compiler: nothing is set up
#   root-folder  a Debian 14 root folder in the cache directory, entered with bubblewrap
#
# Executed:  tools/setup/environment.sh run|test|status
# Sourced:   call setup_environment run|test, then in_environment COMMAND...
#
# UPSWEEP_CACHE        cache directory, default ~/.cache/upsweep
# UPSWEEP_ENVIRONMENT  native or root-folder, instead of deciding here
# UPSWEEP_MIRROR       Debian mirror, instead of the one in this system's apt sources
set -euo pipefail

setup_folder=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd -P)
project=$(cd -- "$setup_folder/../.." && pwd -P)
suite=forky
required_gxx=15
required_cmake=3.28

# CI jobs may start without HOME.
if [[ -z ${HOME:-} ]]; then
  HOME=$(getent passwd "$(id -u)" | cut -d: -f6)
  export HOME=${HOME:-/tmp}
fi
cache=$(realpath -ms -- "${UPSWEEP_CACHE:-$HOME/.cache/upsweep}")
root_folder=$cache/root
mode=
enter_prefix=()

say() { printf 'upsweep: %s\n' "$*" >&2; }

fail() {
  local line
  for line in "$@"; do say "$line"; done
  exit 1
}

packages_of() { sed -e 's/#.*//' -e 's/[[:space:]]//g' -e '/^$/d' "$setup_folder/packages-$1.txt"; }

# Names of a set, and those that the root folder has got for it. Checkouts whose lists differ share a root folder, so
# one that has more than a list names is ready, too.
names_of() { packages_of "$1" | LC_ALL=C sort -u; }
installed_of() { if [[ -f $root_folder/var/lib/upsweep/$1 ]]; then cat -- "$root_folder/var/lib/upsweep/$1"; fi; }

# ---- which mode ----

at_least() { printf '%s\n%s\n' "$2" "$1" | sort -V -C; }

find_dawn_config() {
  local folder prefixes=()
  IFS=: read -r -a prefixes <<<"${CMAKE_PREFIX_PATH:-}"
  for folder in "${Dawn_DIR:-}" \
    ${prefixes[@]+"${prefixes[@]/%//lib/cmake/Dawn}"} ${prefixes[@]+"${prefixes[@]/%//lib64/cmake/Dawn}"} \
    /usr/local/lib*/cmake/Dawn /usr/local/lib/*/cmake/Dawn /usr/lib*/cmake/Dawn /usr/lib/*/cmake/Dawn; do
    if [[ -n $folder && -f $folder/DawnConfig.cmake ]]; then
      printf '%s\n' "$folder/DawnConfig.cmake"
      return 0
    fi
  done
  return 1
}

# Prints what the system lacks for native mode, nothing when it lacks nothing.
missing_for_native() {
  local version
  find_dawn_config >/dev/null || echo "Dawn's CMake package (libwebgpu-dawn-dev)"
  version=$("${CXX:-g++}" -dumpfullversion -dumpversion 2>/dev/null || true)
  # clang answers with an old gcc version for compatibility; a chosen CXX is the user's business.
  if [[ -z $version ]] || { [[ -z ${CXX:-} ]] && ! at_least "$version" $required_gxx; }; then
    echo "g++ $required_gxx or later"
  fi
  version=$(cmake --version 2>/dev/null | sed -n '1s/[^0-9]*\([0-9.]*\).*/\1/p' || true)
  if [[ -z $version ]] || ! at_least "$version" $required_cmake; then
    echo "CMake $required_cmake or later"
  fi
  command -v ninja >/dev/null || echo "ninja"
}

decide_mode() {
  case ${UPSWEEP_ENVIRONMENT:-} in
    native | root-folder) mode=$UPSWEEP_ENVIRONMENT ;;
    '') if [[ -z $(missing_for_native) ]]; then mode=native; else mode=root-folder; fi ;;
    *) fail "UPSWEEP_ENVIRONMENT ($UPSWEEP_ENVIRONMENT) is neither native nor root-folder." ;;
  esac
  if [[ $mode == native ]]; then root_folder=; fi
}

# ---- stages ----

explain_log() {
  local log=$1
  say "last lines of $log:"
  tail -n 15 "$log" | sed 's/^/  | /' >&2
  if grep -qi 'no space left' "$log"; then
    say "The disk is full: free some space, or set UPSWEEP_CACHE to a folder on a larger disk."
  elif grep -qiE 'NO_PUBKEY|public key is not available|missing key' "$log"; then
    say "This system does not know the key of Debian $suite: install or update debian-archive-keyring."
  elif grep -qiE 'could not resolve|temporary failure|connection (failed|timed out|refused)|unable to connect' "$log"; then
    say "The mirror was not reached: check the network and proxy settings, then repeat the command."
  fi
}

# stage LABEL LOG COMMAND...  runs a command with its output in a log, and shows that it is alive.
stage() {
  local label=$1 log=$2 start=$SECONDS next=20 child status=0
  shift 2
  say "$label ..."
  # A process group of its own, so that an interrupt ends all of it. It inherits the lock: should this script be
  # killed, the next one waits for what is left behind.
  setsid "$@" </dev/null >"$log" 2>&1 &
  child=$!
  trap 'kill -TERM -- "-$child" 2>/dev/null; wait "$child" 2>/dev/null || true; say "interrupted; repeat the command to go on"; exit 130' INT TERM HUP
  while kill -0 "$child" 2>/dev/null; do
    sleep 0.2
    if ((SECONDS - start >= next)); then
      say "  $((SECONDS - start)) s: $(tail -n 1 "$log" | tr -d '\r' | cut -c 1-100)"
      next=$((next + 20))
    fi
  done
  wait "$child" || status=$?
  trap - INT TERM HUP
  if ((status == 0)); then
    say "$label: done in $((SECONDS - start)) s"
  else
    say "$label: failed after $((SECONDS - start)) s"
  fi
  return "$status"
}

# ---- what a root folder needs ----

require_root() {
  if ((EUID == 0)); then return 0; fi
  fail "Setting up needs root once: the system lacks $(missing_for_native | paste -sd, | sed 's/,/, /g')," \
    "so a Debian $suite root folder has to be made or changed. Run this once, then repeat your command:" \
    "  sudo UPSWEEP_CACHE=$(printf %q "$cache") $(printf %q "$setup_folder/environment.sh") $1" \
    "Without root: install the packages of tools/setup/packages-run.txt (Debian 14, Ubuntu 26.10), or use the Dockerfile."
}

require_debian() {
  if command -v apt-get >/dev/null && command -v dpkg >/dev/null; then return 0; fi
  fail "This system has no apt, so a root folder cannot be made here. It lacks:" \
    "  $(missing_for_native | paste -sd, | sed 's/,/, /g')" \
    "Install these (Dawn with its CMake package), or use the Dockerfile: docker build -t upsweep . && docker run --rm upsweep"
}

# require_space MEGABYTES
require_space() {
  local free
  free=$(($(df -Pk -- "$cache" | awk 'NR == 2 { print $4 }') / 1024))
  if ((free >= $1)); then return 0; fi
  fail "Not enough space in $cache: $free MB free, $1 MB needed." \
    "Free some, or set UPSWEEP_CACHE to a folder on a larger disk."
}

install_host_packages() {
  local missing=() log=$cache/log/host-packages.log
  command -v mmdebstrap >/dev/null || missing+=(mmdebstrap)
  command -v bwrap >/dev/null || missing+=(bubblewrap)
  if ((${#missing[@]} == 0)); then return 0; fi
  # shellcheck disable=SC2016 # the inner shell expands it
  stage "installing ${missing[*]} on this system" "$log" env DEBIAN_FRONTEND=noninteractive bash -c '
    apt-get install -y --no-install-recommends "$@" ||
      { apt-get update && apt-get install -y --no-install-recommends "$@"; }' bash "${missing[@]}" ||
    { explain_log "$log"; fail "Install these packages by hand, then repeat the command: ${missing[*]}"; }
}

# Prints "URI SUITE COMPONENTS..." for every binary source of this system, in both formats that apt knows.
apt_sources() {
  local file
  for file in /etc/apt/sources.list.d/*.sources; do
    if [[ ! -f $file ]]; then continue; fi
    # Fields may continue on indented lines; a stanza ends at an empty line.
    awk '
      function flush(   u, s, i, j) {
        if (tolower(field["enabled"]) !~ /^ *(no|false|0)/ && (" " field["types"] " ") ~ / deb /) {
          split(field["uris"], u, " "); split(field["suites"], s, " ")
          for (i = 1; i in u; i++) for (j = 1; j in s; j++) print u[i], s[j], field["components"]
        }
        delete field
      }
      /^#/ { next }
      /^[[:space:]]*$/ { flush(); next }
      /^[^[:space:]][^:]*:/ { name = tolower(substr($0, 1, index($0, ":") - 1)); field[name] = substr($0, index($0, ":") + 1); next }
      { field[name] = field[name] " " $0 }
      END { flush() }' "$file"
  done
  for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.list; do
    if [[ ! -f $file ]]; then continue; fi
    sed -nE 's/#.*//; s/^[[:space:]]*deb[[:space:]]+(\[[^]]*\][[:space:]]*)?//p' "$file"
  done
}

# Mirrors to try, the likely ones first. Security archives hold no full suite.
mirror_candidates() {
  local uri suite_name rest file
  apt_sources | while read -r uri suite_name rest; do
    case " $rest " in *' main '*) ;; *) continue ;; esac
    case $suite_name in *-security | */updates) continue ;; esac
    case $uri in
      *security*) continue ;;
      mirror+file:*)
        # Debian's cloud images keep the address in a file.
        file=/${uri#mirror+file:}
        sed -e 's/#.*//' -e 's/[[:space:]].*//' -e '/^$/d' "$file" 2>/dev/null || true
        ;;
      http://* | https://* | file:* | copy:*) printf '%s\n' "$uri" ;;
    esac
  done | sed 's|/*$||' | awk '!seen[$0]++ { if (/debian/) print "0 " $0; else print "1 " $0 }' | sort -s -k1,1 | cut -d' ' -f2-
}

# A mirror serves Debian when its release file says so; apt's own fetcher knows this system's proxies.
mirror_serves_suite() {
  local file=$cache/release.partial
  rm -f "$file"
  /usr/lib/apt/apt-helper -o APT::Sandbox::User=root -o Acquire::Retries=1 -o Acquire::http::Timeout=20 \
    -o Acquire::https::Timeout=20 download-file "$1/dists/$suite/InRelease" "$file" >>"$cache/log/mirror.log" 2>&1 || return 1
  grep -q '^Origin: Debian$' "$file" && grep -q "^Codename: $suite\$" "$file"
}

find_mirror() {
  local candidate candidates
  if [[ -n ${UPSWEEP_MIRROR:-} ]]; then
    mirror=$UPSWEEP_MIRROR
    return 0
  fi
  candidates=$(mirror_candidates)
  : >"$cache/log/mirror.log"
  for candidate in $candidates; do
    if mirror_serves_suite "$candidate"; then
      rm -f "$cache/release.partial"
      mirror=$candidate
      return 0
    fi
  done
  rm -f "$cache/release.partial"
  if [[ -z $candidates ]]; then
    fail "This system's apt sources name no archive with a main component, so no Debian mirror is known." \
      "Set UPSWEEP_MIRROR to the address of a Debian mirror (and install debian-archive-keyring), then repeat the command."
  fi
  fail "No mirror of this system's apt sources was reached or serves Debian $suite; tried:" \
    "  $(printf '%s ' "$candidates" | tr '\n' ' ')" \
    "Check the network and proxy settings (log: $cache/log/mirror.log), or set UPSWEEP_MIRROR to a Debian mirror."
}

# Proxy, timeout and date settings of this system hold for the root folder too.
apt_options() {
  printf '%s\n' 'Acquire::Check-Valid-Until "false"' 'APT::Install-Recommends "false"'
  apt-config dump 2>/dev/null |
    sed -nE '/^Acquire::(http|https|Retries|Check-Date|ForceIPv[46])((::Proxy|::Timeout)[^ -]*)? "[^"]+";$/s/;$//p' || true
}

# ---- making the root folder ----

# The root folder, writable and with all rights: only for its own package manager.
administer_root() {
  local prefix=(bwrap --bind "$root_folder" / --proc /proc --dev /dev --unshare-pid --die-with-parent --cap-add ALL --chdir /)
  local file name
  for file in /etc/resolv.conf /etc/hosts; do
    if [[ -e $file ]]; then prefix+=(--ro-bind "$file" "$file"); fi
  done
  prefix+=(/usr/bin/env -i HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive PATH=/usr/sbin:/usr/bin:/sbin:/bin)
  for name in http_proxy https_proxy ftp_proxy no_proxy; do
    if [[ -n ${!name:-} ]]; then prefix+=("$name=${!name}"); fi
  done
  stage "$1" "$2" "${prefix[@]}" "${@:3}"
}

require_bwrap() {
  if bwrap --ro-bind / / --proc /proc --dev /dev --unshare-pid true 2>"$cache/log/bwrap.log"; then return 0; fi
  explain_log "$cache/log/bwrap.log"
  fail "bubblewrap cannot start here; containers without privileges often forbid it." \
    "Run on the system itself, or use the Dockerfile."
}

# make_root run|test; the set says how much space will be needed. Installs the run packages.
make_root() {
  local partial=$root_folder.partial log=$cache/log/make-root.log options=() line mirror
  if [[ $1 == test ]]; then require_space 4000; else require_space 1500; fi
  find_mirror
  rm -rf --one-file-system -- "$partial"
  while read -r line; do options+=("--aptopt=$line"); done < <(apt_options)
  stage "making a Debian $suite root folder (about 1 GB)" "$log" \
    env LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive mmdebstrap --variant=apt "${options[@]}" \
    "--include=$(packages_of run | paste -sd,)" "$suite" "$partial" "$mirror" ||
    { explain_log "$log"; fail "The root folder was not made; repeating the command starts it afresh."; }
  # Mount points for this system's files.
  touch "$partial/etc/resolv.conf" "$partial/etc/hosts"
  mkdir -p "$partial/var/lib/upsweep"
  names_of run >"$partial/var/lib/upsweep/run"
  chmod 755 "$partial"
  remove_root
  mv -T -- "$partial" "$root_folder"
}

remove_root() {
  if [[ ! -e $root_folder ]]; then return 0; fi
  # A new name first: a removal that is interrupted must not look like a root folder.
  rm -rf --one-file-system -- "$root_folder.old"
  mv -T -- "$root_folder" "$root_folder.old"
  rm -rf --one-file-system -- "$root_folder.old"
}

# Installs a set into the existing root folder; also repairs what an interrupted run left. 3: it cannot be repaired.
install_set() {
  local set=$1 log=$cache/log/install-$1.log needed=1000
  if [[ $set == test && ! -e $root_folder/var/lib/upsweep/test ]]; then needed=3000; fi
  require_space "$needed"
  # shellcheck disable=SC2016,SC2046 # the inner shell expands the first, package names have no spaces
  administer_root "installing the $set packages into the root folder" "$log" bash -c '
    dpkg --configure -a && apt-get install -y -f || exit 3
    apt-get update && apt-get install -y --no-install-recommends "$@" && apt-get clean' bash $(packages_of "$set") || return
  { names_of "$set"; installed_of "$set"; } | LC_ALL=C sort -u >"$root_folder/var/lib/upsweep/$set.partial"
  mv -T -- "$root_folder/var/lib/upsweep/$set.partial" "$root_folder/var/lib/upsweep/$set"
}

set_ready() {
  [[ -f $root_folder/var/lib/upsweep/$1 && -z $(LC_ALL=C comm -23 <(names_of "$1") <(installed_of "$1")) ]]
}

environment_ready() {
  if [[ $mode == native ]]; then return 0; fi
  command -v bwrap >/dev/null || return 1
  set_ready run || return 1
  if [[ $1 == test ]]; then set_ready test || return 1; fi
}

make_environment() {
  local set status log lock
  require_debian
  require_root "$1"
  mkdir -p -- "$cache/log" "$cache/home"
  # One set-up at a time; another one's work is used when it is done.
  exec {lock}>>"$cache/lock"
  if ! flock -n "$lock"; then
    say "waiting for another set-up in $cache"
    flock "$lock"
  fi
  if ! environment_ready "$1"; then
    install_host_packages
    require_bwrap
    rm -rf --one-file-system -- "$root_folder.old"
    if [[ ! -e $root_folder/var/lib/upsweep/run ]]; then make_root "$1"; fi
    for set in run test; do
      if [[ $set == test && $1 != test ]] || set_ready "$set"; then continue; fi
      status=0
      log=$cache/log/install-$set.log
      install_set "$set" || status=$?
      # Packages that cannot be repaired, or that an older root folder does not fit any more, need a new one.
      if ((status == 3)) || { ((status != 0)) && grep -qi 'unmet dependencies\|held broken packages' "$log"; }; then
        explain_log "$log"
        say "the packages in the root folder cannot be repaired: making it again"
        make_root "$set"
        status=0
        set_ready "$set" || install_set "$set" || status=$?
      fi
      if ((status != 0)); then
        explain_log "$log"
        fail "The $set packages were not installed. Repeat the command; to start afresh, delete $root_folder first."
      fi
    done
  fi
  if [[ -n ${SUDO_UID:-} && $(stat -c %u -- "$(dirname -- "$cache")") == "$SUDO_UID" ]]; then
    chown "$SUDO_UID:${SUDO_GID:-$SUDO_UID}" "$cache" "$cache/home" "$cache/lock"
  fi
  exec {lock}>&-
}

# ---- using it ----

# The versions that matter, in one line. With an argument: only those that decide what a build gives.
environment_versions() {
  local names=(libwebgpu-dawn-dev mesa-vulkan-drivers 'g++-[0-9]*' cmake) found
  if (($# == 0)); then names+=(clang-21 emscripten chromium); fi
  # shellcheck disable=SC2016 # dpkg-query expands it
  found=$(dpkg-query --admindir="$root_folder/var/lib/dpkg" -W -f '${db:Status-Status} ${Package} ${Version}\n' "${names[@]}" 2>/dev/null |
    sed -nE -e '/^installed/!d; s/^installed //; s/^libwebgpu-dawn-dev/Dawn/; s/^mesa-vulkan-drivers/Mesa/' \
      -e 's/^g[+][+]-[0-9]+ /g++ /; /^g[+][+]-/d; p' | paste -sd, | sed 's/,/, /g') || true
  if [[ $mode == native ]]; then
    # Parts of a native environment may come from elsewhere than packages.
    found="$(find_dawn_config || true), $("${CXX:-g++}" --version | head -n 1), $(cmake --version | head -n 1)${found:+, packages: $found}"
  fi
  printf '%s: %s\n' "$mode" "$found"
}

# Sets enter_prefix, the words before a command that make it run in the environment.
# Arguments: more files or folders that the command has to see.
prepare_enter() {
  local path name value tops variables=() here
  here=$(pwd -P)
  local swiftshader=/usr/lib/chromium/vk_swiftshader_icd.json lavapipe
  for lavapipe in "$root_folder"/usr/share/vulkan/icd.d/lvp_icd*.json; do break; done
  if [[ -f $root_folder$swiftshader ]]; then variables+=("UPSWEEP_SWIFTSHADER_ICD=${UPSWEEP_SWIFTSHADER_ICD:-$swiftshader}"); fi
  if [[ -f $lavapipe ]]; then variables+=("UPSWEEP_LAVAPIPE_ICD=${UPSWEEP_LAVAPIPE_ICD:-${lavapipe#"$root_folder"}}"); fi
  if [[ $mode == native ]]; then
    enter_prefix=(env ${variables[@]+"${variables[@]}"})
    return 0
  fi

  # The root folder's parts are read-only, so that no build or test can spoil it. The places between are memory, where
  # bubblewrap makes mount points without writing into the folder.
  enter_prefix=(bwrap --tmpfs /)
  for path in "$root_folder"/*; do
    name=${path##*/}
    case $name in boot | dev | home | media | mnt | opt | proc | root | run | srv | sys | tmp) continue ;; esac
    if [[ -L $path ]]; then
      enter_prefix+=(--symlink "$(readlink -- "$path")" "/$name")
    elif [[ -d $path ]]; then
      enter_prefix+=(--ro-bind "$path" "/$name")
    fi
  done
  enter_prefix+=(--proc /proc --dev /dev --ro-bind-try /sys /sys --dir /run --tmpfs /tmp --tmpfs /var/tmp)
  for path in /etc/resolv.conf /etc/hosts; do
    if [[ -e $path ]]; then enter_prefix+=(--ro-bind "$path" "$path"); fi
  done
  # npm trusts whom this system trusts, be it a proxy.
  path=${NODE_EXTRA_CA_CERTS:-/etc/ssl/certs/ca-certificates.crt}
  if [[ -f $path ]]; then
    enter_prefix+=(--ro-bind "$path" /run/certificates.crt)
    variables+=(NODE_EXTRA_CA_CERTS=/run/certificates.crt)
  fi

  # HOME is kept: emscripten and cargo have caches there.
  local home=$cache/home
  tops='^/(bin|boot|dev|etc|lib[^/]*|proc|run|sbin|sys|usr|var)(/|$)'
  for path in "$here" "$@"; do
    if [[ $path == / || $path =~ $tops ]]; then continue; fi
    enter_prefix+=(--bind "$path" "$path")
  done
  if mkdir -p -- "$home" 2>/dev/null && [[ -w $home ]]; then
    enter_prefix+=(--bind "$home" "$home")
  else
    home=/tmp
  fi
  if [[ $project =~ $tops ]]; then
    mkdir -p -- "$root_folder$project" 2>/dev/null ||
      fail "The project ($project) lies in a system folder, which the root folder cannot show. Move it elsewhere, or run as root."
  fi
  enter_prefix+=(--bind "$project" "$project")
  if [[ $here == / || $here =~ $tops && $here/ != "$project"/* ]]; then here=$project; fi
  enter_prefix+=(--chdir "$here" --unshare-pid --die-with-parent)
  if ((EUID == 0)); then
    # bubblewrap drops root's rights; without these, root could not write into a project that a user owns.
    for name in CAP_CHOWN CAP_DAC_OVERRIDE CAP_DAC_READ_SEARCH CAP_FOWNER; do enter_prefix+=(--cap-add "$name"); done
  fi

  # Only what is meant for the build and the tests passes; the rest of the caller's environment describes another system.
  while read -r name; do
    value=${!name-}
    case $name in
      UPSWEEP_ENVIRONMENT | UPSWEEP_CACHE | UPSWEEP_LAVAPIPE_ICD | UPSWEEP_SWIFTSHADER_ICD) ;;
      UPSWEEP_* | VK_* | CI | CTEST_* | npm_config_* | CMAKE_* | GTEST_* | DAWN_* | MESA_* | LP_* | *SAN_OPTIONS | NINJA_STATUS | NO_COLOR | \
        CLICOLOR* | COLORTERM | TERM | TZ | CC | CXX | CFLAGS | CXXFLAGS | LDFLAGS | *_proxy | *_PROXY)
        variables+=("$name=$value")
        ;;
    esac
  done < <(compgen -e)
  # Emscripten's own choice is in /var, which is read-only here.
  variables+=("EM_CACHE=${home}/.cache/emscripten")
  enter_prefix+=(/usr/bin/env -i "HOME=$home" "UPSWEEP_CACHE=$cache" UPSWEEP_ENVIRONMENT=native LANG=C.UTF-8
    PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin ${variables[@]+"${variables[@]}"})
}

in_environment() { "${enter_prefix[@]}" "$@"; }

# setup_environment run|test [PATH...]
# The paths are more files or folders, beside the project, that commands have to see.
setup_environment() {
  local missing made=no
  decide_mode
  if ! environment_ready "$1"; then
    make_environment "$1"
    made=yes
  fi
  if [[ $mode == native && $1 == test ]] && command -v dpkg-query >/dev/null; then
    missing=$( (packages_of run; packages_of test) | while read -r name; do
      dpkg-query -W -f '${db:Status-Status}\n' "$name" 2>/dev/null | grep -qx installed || printf '%s ' "$name"
    done)
    if [[ -n $missing ]]; then
      say "these packages are not installed; tests that need them fail: $missing"
    fi
  fi
  prepare_enter "${@:2}"
  # ./run stays quiet when nothing was set up; a test log always names its tools.
  if [[ $made == yes || $1 == test ]]; then say "environment $(environment_versions)"; fi
}

# The npm packages that the tests of web/ use, exactly those of its lockfile.
setup_npm_packages() {
  local folder=$project/web log=$cache/log/npm.log stamp
  stamp=$(cat -- "$folder/package.json" "$folder/package-lock.json" | sha256sum | cut -d' ' -f1)
  if [[ -f $folder/node_modules/.stamp && $(<"$folder/node_modules/.stamp") == "$stamp" ]]; then return 0; fi
  mkdir -p -- "$cache/log"
  # Scripts of packages are not run: none of them needs it.
  stage "fetching the npm packages of web/ (about 300 MB)" "$log" \
    "${enter_prefix[@]}" npm ci --prefix "$folder" --ignore-scripts --no-audit --no-fund ||
    { explain_log "$log"; say "The npm packages of web/ were not fetched: tests of label web fail."; return 0; }
  printf '%s\n' "$stamp" >"$folder/node_modules/.stamp"
}

# configure_preset PRESET FOLDER [CMAKE-ARGUMENT...]
# Configures once; ninja does the rest. Another compiler, Dawn or place of the project starts afresh, as ninja would
# not see it: packages keep their files' old dates.
configure_preset() {
  local preset=$1 folder=$2 fingerprint
  shift 2
  fingerprint=$(printf '%s\n' "$project" "$(environment_versions build)" "$preset" "$@")
  if [[ -f $folder/build.ninja && -f $folder/.environment && $(<"$folder/.environment") == "$fingerprint" ]]; then return 0; fi
  if [[ -f $folder/.environment && $(<"$folder/.environment") != "$fingerprint" ]]; then
    say "the environment has changed: building $folder afresh"
    find "$folder" -mindepth 1 -maxdepth 1 ! -name .lock -exec rm -rf -- {} +
  fi
  # Written first: an interrupted configure must not leave a folder of unknown origin.
  printf '%s\n' "$fingerprint" >"$folder/.environment"
  in_environment cmake --fresh -S "$project" --preset "$preset" -B "$folder" "$@" || { rm -f "$folder/build.ninja"; return 1; }
}

if [[ ${BASH_SOURCE[0]} == "$0" ]]; then
  case ${1:-} in
    run | test) setup_environment "$1" ;;
    status)
      decide_mode
      for set in run test; do
        if environment_ready "$set"; then say "$set set: ready"; else say "$set set: not set up"; fi
      done
      say "environment $(environment_versions)"
      ;;
    *) fail "usage: tools/setup/environment.sh run|test|status" ;;
  esac
fi
