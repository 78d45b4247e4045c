package reply

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"strings"

	"github.com/keywright/keywright/keyspace/finding"
)

// WriteCSV writes the items of an answer as a table, in a file of that name without .csv. A cell that a spreadsheet
// would take for a formula is made harmless.
func WriteCSV(w http.ResponseWriter, name string, value any) {
	items := reflect.ValueOf(value)
	for items.Kind() == reflect.Pointer {
		items = items.Elem()
	}
	part := ""
	if f := items.FieldByName("Page"); f.IsValid() {
		if p, ok := f.Interface().(Page); ok && p.Cut {
			part = "-part"
			w.Header().Set("X-Keywright-Cut", p.Next)
		}
	}
	for _, field := range []string{"Items", "Entries"} {
		if f := items.FieldByName(field); f.IsValid() && f.Kind() == reflect.Slice {
			items = f
			break
		}
	}
	if items.Kind() != reflect.Slice {
		Refuse(w, Fail(http.StatusBadRequest, "no-table", "this answer is no table", "leave out format=csv"))
		return
	}
	h := w.Header()
	h.Set("Content-Type", "text/csv; charset=utf-8; header=present")
	h.Set("Content-Disposition", fmt.Sprintf("attachment; filename=%q", name+part+".csv"))
	h.Set("Cache-Control", "no-store")
	out := csv.NewWriter(w)
	columns := columnsOf(items.Type().Elem())
	var head []string
	for _, c := range columns {
		head = append(head, c.name)
	}
	_ = out.Write(head)
	for i := range items.Len() {
		var row []string
		for _, c := range columns {
			text, value := "", items.Index(i).FieldByIndex(c.index)
			if !c.maybe || !value.IsZero() {
				text = cell(value)
			}
			row = append(row, text)
		}
		_ = out.Write(row)
	}
	out.Flush()
}

// column represents a field of items.
type column struct {
	name  string
	index []int
	maybe bool // JSON leaves it out where it is zero
}

// columnsOf returns the fields of a struct, with those of what it embeds.
func columnsOf(t reflect.Type) (out []column) {
	if t == reflect.TypeFor[finding.Finding]() {
		for _, name := range []string{"Code", "Severity", "Entry", "Message", "Count", "Fix"} {
			f, _ := t.FieldByName(name)
			out = append(out, column{strings.ToLower(name), f.Index, false})
		}
		return out
	}
	for _, f := range reflect.VisibleFields(t) {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous || !f.IsExported() || name == "" || name == "-" {
			continue
		}
		out = append(out, column{name, f.Index, options != ""})
	}
	return out
}

// cell returns a value in a table.
func cell(v reflect.Value) string {
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return ""
		}
		v = v.Elem()
	}
	switch value := v.Interface().(type) {
	case finding.JSONKey:
		return finding.Cell(finding.FullKey(value))
	case fmt.Stringer:
		return finding.Cell(value.String())
	case string:
		return finding.Cell(value)
	}
	if v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.String {
		var words []string
		for i := range v.Len() {
			words = append(words, v.Index(i).String())
		}
		return finding.Cell(strings.Join(words, " "))
	}
	switch v.Kind() {
	case reflect.Slice, reflect.Map, reflect.Struct:
		if v.Kind() != reflect.Struct && v.Len() == 0 {
			return ""
		}
		text, _ := json.Marshal(v.Interface())
		return finding.Cell(string(text))
	case reflect.String:
		return finding.Cell(v.String())
	}
	return fmt.Sprint(v.Interface())
}
