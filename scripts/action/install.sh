#!/usr/bin/env bash
# Installs a release of keywright on a runner of GitHub Actions: downloads the archive for its system, compares it with
# SHA256SUMS and puts it into the PATH of later steps. action.yml runs it; what it is given comes in variables only.
set -euo pipefail

# fail says why, as an annotation; what others wrote cannot begin a command of its own.
fail() {
  local text=$1
  text=${text//'%'/%25} text=${text//$'\r'/%0D} text=${text//$'\n'/%0A}
  printf '::error title=keywright::%s\n' "$text"
  exit 2
}

version=${INPUT_VERSION#v}
if [ -z "$version" ]; then
  version=$(sed -n 's/^## \[\([0-9][^]]*\)\] - .*/\1/p' "$(dirname "$0")/../../CHANGELOG.md" | head -n 1)
  [ -n "$version" ] || fail "this commit of the action belongs to no release: use a tag, or say which with the input version"
fi
[[ $version =~ ^[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?$ ]] || fail "the input version is $version; it must be like 0.1.0"
[[ $INPUT_MIRROR =~ ^(https|file):// ]] || fail "the input mirror is $INPUT_MIRROR; it must begin with https:// or file://"

case ${RUNNER_OS-} in
  Linux) os=linux form=tar.gz ;;
  macOS) os=darwin form=tar.gz ;;
  Windows) os=windows form=zip ;;
  *) fail "there is no release for ${RUNNER_OS:-an unknown system}" ;;
esac
case ${RUNNER_ARCH-} in
  X64) arch=amd64 ;;
  ARM64) arch=arm64 ;;
  *) fail "there is no release for ${RUNNER_ARCH:-an unknown architecture}" ;;
esac

archive=keywright_${version}_${os}_$arch.$form
dir=$(mktemp -d "${RUNNER_TEMP:?}/keywright.XXXXXX")
mkdir "$dir/bin"
for name in SHA256SUMS "$archive"; do
  curl --fail --silent --show-error --location --proto '=https,file' --proto-redir '=https' --retry 3 \
    --output "$dir/$name" -- "${INPUT_MIRROR%/}/v$version/$name" || fail "cannot download $name of $version from $INPUT_MIRROR"
done

sums=(sha256sum)
command -v sha256sum >/dev/null || sums=(shasum -a 256)
grep -E "^[0-9a-f]{64}  ${archive//./\\.}\$" "$dir/SHA256SUMS" >"$dir/sum" || fail "SHA256SUMS of $version has no line for $archive"
(cd "$dir" && "${sums[@]}" -c sum >/dev/null 2>&1) || fail "$archive is not what SHA256SUMS says: it was damaged or exchanged"

if [ $form = zip ]; then unzip -q "$dir/$archive" -d "$dir/bin"; else tar -xzf "$dir/$archive" -C "$dir/bin"; fi
printf '%s\n' "$dir/bin" >>"${GITHUB_PATH:?}"
"$dir/bin/keywright" version
