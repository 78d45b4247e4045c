// Command measures prints the figures of the project: how long functions, files and packages are, how
// much is tested and documented, which modules a program links. Each has its goal, and whether it is
// reached. With -v it names the places that are beyond a goal. It changes nothing, and it exits with 0
// also when a goal is missed: what must hold is a test in internal/arch.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"

	"github.com/keywright/keywright/internal/arch"
)

func main() {
	all := flag.Bool("v", false, "name every place that is beyond a goal, not only the first three")
	flag.Parse()
	if err := run(os.Stdout, *all); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(w io.Writer, all bool) error {
	if _, err := os.Stat("internal/arch/measures"); err != nil {
		return fmt.Errorf("run it in the root of the project: %w", err)
	}
	files, err := arch.Parse(os.DirFS("."))
	if err != nil {
		return err
	}
	words, err := arch.PrivateWordsIn(os.DirFS("."), files)
	if err != nil {
		return err
	}
	measures := append(arch.Measures(files), words...)
	for _, m := range []struct {
		name, pkg string
		most      int
	}{{"the matcher", "./keyspace/match", 1}, {"the audit", "./audit", 2}, {"the runtime", ".", 3}} {
		linked, err := modules(m.pkg)
		if err != nil {
			return err
		}
		measures = append(measures, arch.Measure{Name: "modules linked by " + m.name, Is: fmt.Sprint(len(linked)),
			Goal: fmt.Sprintf("≤ %d", m.most), Missed: len(linked) > m.most, Beyond: linked})
	}
	missed := 0
	for _, m := range measures {
		if m.Missed {
			missed++
		}
		show(w, m, all)
	}
	_, err = fmt.Fprintf(w, "%d of %d goals are reached\n", len(measures)-missed, len(measures))
	return err
}

func show(w io.Writer, m arch.Measure, all bool) {
	verdict := "yes"
	if m.Missed {
		verdict = "NO"
	}
	fmt.Fprintf(w, "%-32s %-4s %s (goal %s)\n", m.Name, verdict, m.Is, m.Goal)
	if !m.Missed {
		return
	}
	for i, place := range m.Beyond {
		if i == 3 && !all {
			fmt.Fprintf(w, "%37s… and %d more: -v\n", "", len(m.Beyond)-3)
			break
		}
		fmt.Fprintf(w, "%37s%s\n", "", place)
	}
}

// modules returns the modules whose packages a program links that imports this one, without the
// workspace.
func modules(pkg string) ([]string, error) {
	cmd := exec.Command("go", "list", "-deps", "-f", "{{with .Module}}{{.Path}}{{end}}", pkg)
	cmd.Env = append(os.Environ(), "GOWORK=off")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list -deps %s: %w", pkg, err)
	}
	names := strings.Fields(string(out))
	slices.Sort(names)
	return slices.Compact(names), nil
}
