package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/keywright/keywright/cmd/keywright/internal/cli"
	"github.com/keywright/keywright/cmd/keywright/internal/command"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// preface says what holds for every command.
const preface = `# The command line

<!-- Written by go generate from the commands. Do not edit. -->

Results go to standard output, everything else (progress, warnings, hints, errors) to standard error, so that
` + "`keywright lint -o sarif > findings.sarif`" + ` is a SARIF file and nothing else.

## Exit codes

| code | meaning |
| --- | --- |
| 0 | clean, or done |
| 1 | findings (from ` + "`--fail-on`" + ` on), a file that would change, a key that is not as declared |
| 2 | wrong usage, a file that cannot be used, a result that cannot be written |
| 3 | the server cannot be reached, is too old, or the connection broke |
| 4 | refused: by the server (login, permission), or because something would be overwritten |
| 5 | an audit that may not have seen every key; it is never called complete |
| 130 | interrupted; an audit prints what it has seen until then |

## Environment

A flag wins over the environment, the environment over the default. A variable sets what holds for all commands of a
shell, a CI job or a container: ` + "`KEYWRIGHT_OUTPUT=json`" + ` is ` + "`--output json`" + `. Other flags have none. A warning names a
variable that begins with KEYWRIGHT_ and that no command reads. No value of a variable is ever printed.

| variable | meaning |
| --- | --- |
%s| ` + "`KEYWRIGHT_KEY_RING`" + ` | the text of a key ring, for ` + "`keywright seal`" + ` |
| ` + "`REDIS_URL`" + ` | the server, where ` + "`KEYWRIGHT_URL`" + ` is not set |
| ` + "`REDISCLI_AUTH`" + ` | the password, where the URL has none |
| ` + "`NO_COLOR`, `CLICOLOR_FORCE`, `TERM=dumb`" +
	` | no colour, colour also into a pipe, no colour and no progress bar |
| ` + "`GITHUB_ACTIONS=true`" + ` | findings are printed as annotations unless ` + "`--output`" + ` says otherwise |

## Servers

` + "`-u`" + ` and the variables take:

| URL | server |
| --- | --- |
| ` + "`redis://[user[:password]@]host[:port][/db]`" + ` | one server; if it is part of a cluster, the cluster |
| ` + "`rediss://…`" + ` | the same with TLS |
| ` + "`unix:///path/to/socket[?db=N]`" + ` | a Unix socket |
| ` + "`redis+cluster://host:port[,host:port…]`" + ` | a cluster, by any of its nodes |
| ` + "`redis+sentinel://host:port[,host:port…]/master[/db]`" + ` | the primary that sentinels name |

` + "`valkey://`" + ` and ` + "`valkeys://`" + ` mean the same as ` + "`redis://`" + ` and ` + "`rediss://`" +
	`. After ` + "`?`" + ` come
` + "`timeout=5s`" + `, ` + "`db=N`" + `, ` + "`sentinel_user=…`" + ` and ` + "`sentinel_password=…`" +
	`. A special character in a password is percent-encoded. A password in the arguments is
seen by every user that can list processes: put it into the environment.

## Commands
`

func commandPage() string {
	var b strings.Builder
	root := command.New()
	var list []*cobra.Command
	collect(root, &list)
	b.WriteString(strings.Replace(preface, "%s", variables(root, list), 1))
	b.WriteString("\n| command | what it does |\n| --- | --- |\n")
	for _, c := range list {
		fmt.Fprintf(&b, "| [`%s`](#%s) | %s |\n", c.CommandPath(), strings.ReplaceAll(c.CommandPath(), " ", "-"), c.Short)
	}
	b.WriteString("\nEvery command takes these too:\n\n" + flags(root.PersistentFlags()))
	for _, c := range list {
		section(&b, c)
	}
	return b.String()
}

// together says in one text what a variable means, where its flags say more about
// their own commands.
var together = map[string]string{
	"KEYWRIGHT_OUTPUT": "form of the result; each command says which it has",
}

// meanings returns the texts of each variable's flags.
func meanings(root *cobra.Command, list []*cobra.Command) map[string][]string {
	out := map[string][]string{}
	add := func(f *pflag.Flag) {
		name := cli.Variable(f)
		if name == "" || f.Hidden || f.Name == "help" || f.Name == "version" || slices.Contains(out[name], f.Usage) {
			return
		}
		out[name] = append(out[name], f.Usage)
	}
	root.PersistentFlags().VisitAll(add)
	for _, c := range list {
		c.LocalNonPersistentFlags().VisitAll(add)
	}
	return out
}

// variables returns rows of a table, one per variable of a flag.
func variables(root *cobra.Command, list []*cobra.Command) string {
	var b strings.Builder
	all := meanings(root, list)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		meaning := all[name][0]
		if text := together[name]; text != "" {
			meaning = text
		}
		fmt.Fprintf(&b, "| `%s` | %s |\n", name, tableText(meaning))
	}
	return b.String()
}

// collect finds every command that does something, in the order of the help.
func collect(c *cobra.Command, list *[]*cobra.Command) {
	for _, sub := range c.Commands() {
		switch {
		case sub.Name() == "help" || sub.Hidden:
		case sub.HasSubCommands() && sub.Name() != "completion":
			if flags(sub.LocalNonPersistentFlags()) != "" { // it does something itself
				*list = append(*list, sub)
			}
			collect(sub, list)
		default:
			*list = append(*list, sub)
		}
	}
}

func section(b *strings.Builder, c *cobra.Command) {
	fmt.Fprintf(b, "\n### %s\n\n", c.CommandPath())
	fmt.Fprintf(b, "```text\n%s\n```\n\n", synopsis(c))
	b.WriteString(paragraphs(c) + "\n")
	if c.Example != "" {
		fmt.Fprintf(b, "\n```sh\n%s\n```\n", unindent(c.Example))
	}
	if text := flags(c.LocalNonPersistentFlags()); text != "" {
		b.WriteString("\n" + text)
	}
}

func synopsis(c *cobra.Command) string {
	if c.Name() == "completion" {
		return c.CommandPath() + " bash|zsh|fish|powershell"
	}
	return c.UseLine()
}

// paragraphs returns the long text; cobra's own of completion is too long for here.
func paragraphs(c *cobra.Command) string {
	switch {
	case c.Name() == "completion":
		return "Prints the script with which a shell completes commands, flags and their values, the entries of " +
			"the\ndeclaration and the codes of rules. `keywright completion bash --help` says where to put " +
			"it.\n\n```sh\nsource <(keywright completion bash)\n```"
	case c.Long != "":
		return strings.TrimSpace(c.Long)
	}
	return c.Short + "."
}

func unindent(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = strings.TrimPrefix(lines[i], "  ")
	}
	return strings.Join(lines, "\n")
}

// flags returns the table of flags.
func flags(set *pflag.FlagSet) string {
	var rows []string
	set.VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Name == "help" || f.Name == "version" {
			return
		}
		name := "`--" + f.Name + "`"
		if f.Shorthand != "" {
			name = "`-" + f.Shorthand + "`, " + name
		}
		variable := cli.Variable(f)
		if variable != "" {
			variable = "`" + variable + "`"
		}
		rows = append(rows, fmt.Sprintf("| %s | %s | %s | %s |", name, tableText(f.Usage), standard(f), variable))
	})
	if len(rows) == 0 {
		return ""
	}
	return "| flag | meaning | default | variable |\n| --- | --- | --- | --- |\n" + strings.Join(rows, "\n") + "\n"
}

// standard returns a flag's default, where there is one to speak of.
func standard(f *pflag.Flag) string {
	if f.DefValue == "" || f.DefValue == "[]" || f.DefValue == "false" {
		return ""
	}
	return "`" + f.DefValue + "`"
}

// tableText keeps Markdown from reading a table's text as markup.
func tableText(text string) string {
	return strings.NewReplacer("|", `\|`, "*", `\*`, "<", "&lt;").Replace(text)
}
