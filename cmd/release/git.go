package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// ofARepository lists the variables that git sets for a hook: they name its repository, and every git follows them, that
// of the go command too.
var ofARepository = []string{"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_NAMESPACE",
	"GIT_COMMON_DIR"}

// git runs git in a folder, and gives what it prints. Settings of the person who makes the release (signatures, hooks,
// line ends) change nothing.
func git(ctx context.Context, dir string, args ...string) (string, error) {
	return gitWith(ctx, nil, dir, args...)
}

// gitWith runs git with more variables.
func gitWith(ctx context.Context, env []string, dir string, args ...string) (string, error) {
	plain := []string{"-c", "commit.gpgSign=false", "-c", "tag.gpgSign=false", "-c", "core.hooksPath=" + os.DevNull, "-c",
		"core.autocrlf=false", "-c", "core.eol=lf", "-c", "core.attributesFile=" + os.DevNull, "-c",
		"i18n.commitEncoding=UTF-8", "-c", "i18n.logOutputEncoding=UTF-8", "-c", "log.showSignature=false"}
	cmd := exec.CommandContext(ctx, "git", append(plain, args...)...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	return output(cmd)
}

// output runs a command and gives what it prints, without the last line end. An error has what the command said.
func output(cmd *exec.Cmd) (string, error) {
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s: %w\n%s%s", strings.Join(cmd.Args, " "), err, said.String(), out.String())
	}
	return strings.TrimRight(out.String(), "\n"), nil
}

// tree returns the folder with the clone that the commit is made in.
func (r *release) tree() string { return filepath.Join(r.work, "tree") }

// find clones the repository and finds the commit that is released. A tree that is a release commit already is made
// again from its parent.
func (r *release) find(ctx context.Context) (head string, err error) {
	if head, err = git(ctx, r.repo, "rev-parse", "HEAD"); err != nil {
		return "", err
	}
	if _, err := git(ctx, r.repo, "clone", "--quiet", "--shared", "--no-checkout", "--no-tags", ".",
		r.tree()); err != nil {
		return "", err
	}
	r.base = head
	written, err := git(ctx, r.repo, "show", head+":"+cutPath)
	if err != nil {
		return "", err
	}
	if parent, err := git(ctx, r.repo, "rev-parse", "--verify", "--quiet", head+"^"); err == nil &&
		strings.Contains(written, strconv.Quote(parent)) {
		r.base = parent
	}
	if _, err := git(ctx, r.tree(), "checkout", "--quiet", "--detach", r.base); err != nil {
		return "", err
	}
	seconds, err := git(ctx, r.repo, "show", "--no-patch", "--format=%ct", r.base)
	if err != nil {
		return "", err
	}
	unix, err := strconv.ParseInt(seconds, 10, 64)
	r.when = time.Unix(unix, 0).UTC()
	return head, err
}

// record commits what was changed in the clone and tags it. Names and times are those of the commit that is released,
// so that the same commit gives the same tags everywhere.
func (r *release) record(ctx context.Context) error {
	names, err := git(ctx, r.repo, "show", "--no-patch", "--format=%cn%n%ce", r.base)
	if err != nil {
		return err
	}
	name, mail, _ := strings.Cut(names, "\n")
	at := fmt.Sprintf("@%d +0000", r.when.Unix())
	env := []string{"GIT_AUTHOR_NAME=" + name, "GIT_AUTHOR_EMAIL=" + mail, "GIT_AUTHOR_DATE=" + at,
		"GIT_COMMITTER_NAME=" + name, "GIT_COMMITTER_EMAIL=" + mail, "GIT_COMMITTER_DATE=" + at}
	if _, err := gitWith(ctx, env, r.tree(), "commit", "--quiet", "--all", "--cleanup=verbatim",
		"--message=release: "+r.version); err != nil {
		return err
	}
	if r.commit, err = git(ctx, r.tree(), "rev-parse", "HEAD"); err != nil {
		return err
	}
	for _, m := range r.modules {
		if _, err := gitWith(ctx, env, r.tree(), "tag", "--annotate", "--message=keywright "+r.version,
			m.tag(r.version)); err != nil {
			return err
		}
	}
	return nil
}

// agree refuses a tag that is there already for something else, and a release commit that is not what its parent gives.
func (r *release) agree(ctx context.Context, head string) error {
	if head != r.base && head != r.commit {
		return fmt.Errorf(
			"HEAD says that it is a release of %.12s, but that one gives %.12s and not %.12s: remove HEAD from the branch, "+
				"or release what comes after it", r.base, r.commit, head)
	}
	for _, m := range r.modules {
		there, err := git(ctx, r.repo, "rev-parse", "--verify", "--quiet", "refs/tags/"+m.tag(r.version)+"^{commit}")
		if err == nil && there != r.commit {
			return fmt.Errorf(
				"there is a tag %s already, of another commit (%.12s): a version that was published is never changed, "+
					"choose the next", m.tag(r.version), there)
		}
	}
	return nil
}
