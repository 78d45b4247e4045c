package layout

import (
	"html/template"
	"strings"
	"testing"
)

type inner struct{ Name, Note string }

type data struct {
	*inner
	Title string
	Rows  []inner
	Cells [][]string
	None  []inner
	Left  int64
	Open  bool
}

var page = data{&inner{Name: "promoted"}, `a "<b>" & 'c' + d`, []inner{{"one", "first"}, {"two", ""}},
	[][]string{{"x", "y"}, {"z", "&"}}, nil, 7, true}

var functions = map[string]Func{"upper": Of(strings.ToUpper), "words": Of(strings.Fields),
	"raw": func([]any) any { return Raw("<i>") }}

// TestLayoutsAreTemplates: what a layout makes is what html/template makes of the same text.
func TestLayoutsAreTemplates(t *testing.T) {
	for _, text := range []string{
		"plain", "{{.Title}} {{.Name}} {{.Left}} {{.Open}}", `<p title="{{.Title}}">{{.Title}}</p>`,
		"{{range .Rows}}{{.Name}}={{.Note}};{{else}}none{{end}}", "{{range .None}}{{.Name}}{{else}}none {{.Title}}{{end}}",
		"{{range $i, $r := .Cells}}<td>{{$i}} {{index . 0}} {{index $r 1}} {{$.Title}}</td>{{end}}",
		"{{range $i, $r := .Rows}}{{if $i}}, {{end}}{{$r.Name}}{{end}}",
		"{{range $r := .Rows}}{{$r.Note}}{{range $r := $.Cells}}{{index $r 0}}{{end}}{{$r.Name}}{{end}}",
		"{{with .Title}}{{.}}{{end}}{{with .None}}some{{else}}{{.Left}}{{end}}{{with .Rows}}{{range " +
			".}}{{.Name}}{{end}}{{end}}",
		"{{if .Open}}open{{else}}shut{{end}}{{if .None}}open{{else}}shut{{end}}{{if .Left}}left{{end}}{{if or .None " +
			".Left}}any{{end}}{{if or .None .None}}any{{end}}",
		`{{upper .Title}} {{upper "x\ty"}} {{range words .Title}}[{{.}}]{{end}} {{raw}}`,
		"{{range .Rows}}{{with .Note}}{{.}} of {{$.Title}}{{end}}{{end}}",
	} {
		var want strings.Builder
		known := template.FuncMap{"upper": strings.ToUpper, "words": strings.Fields,
			"raw": func() template.HTML { return "<i>" }}
		if err := template.Must(template.New("t").Funcs(known).Parse(text)).Execute(&want, page); err != nil {
			t.Fatal(err)
		}
		if got, err := New("t", text, HTML, functions).Fill(page); got != want.String() || err != nil {
			t.Errorf("%s\n got %q, %v\nwant %q", text, got, err, want.String())
		}
	}
}

// TestLayoutsThatAskForTooMuch: what is no field, or no part of the language, is an error and never an empty place.
func TestLayoutsThatAskForTooMuch(t *testing.T) {
	for _, text := range []string{"{{.Nothing}}", "{{range .Rows}}{{.Title}}{{end}}", "{{.Title | upper}}",
		"{{nothing .Title}}", "{{.Title", "{{break}}", "{{template \"x\"}}", "{{$x}}", "{{range .Title}}{{end}}",
		"{{upper .Nothing}}"} {
		if got, err := New("t", text, HTML, functions).Fill(page); err == nil {
			t.Errorf("%s was filled: %q", text, got)
		}
	}
}
