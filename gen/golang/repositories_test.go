package golang_test

import "testing"

// TestRepositories holds that each record of a migration is read and written at the key of its move, and that what is
// sealed has no repository.
func TestRepositories(t *testing.T) {
	prints(t, `keywright: 1
package: p
owner: o
namespace: bot
vars: {g: int, hash: hex}
keys:
  persona: {key: "bot:p:{g}", type: string, value: text, ttl: none}
  profile: {key: "bot:profile:{g}", type: hash, ttl: none, fields: {name: text, age: int}}
  feeds: {key: "bot:f:{g}", type: hash, field: text, value: json, ttl: none}
  tags: {key: "bot:t:{g}", type: set, member: text, ttl: none}
  stories: {key: "bot:h", type: zset, member: hash, score: unix_s, ttl: none}
  story: {key: "bot:h:{g}:story:{hash}", type: string, value: {hash: hex, at: text, title: text}, ttl: 2d}
  words: {key: "bot:w:{g}", type: list, member: text, ttl: none}
  secret: {key: "bot:s:{g}", type: string, value: text encrypted, ttl: none}
migrations:
  json_files:
    sources: {state: {file: state.json}}
    parts:
      all:
        moves:
          - {from: "state:/{g}/persona", to: persona, value: .}
          - {from: "state:/{g}/persona2", to: persona, value: .}
          - {from: "state:/{g}/profile", to: profile, fields: {name: .name, age: .age}}
          - {from: "state:/{g}/feeds/{name}", to: feeds, field: "{name}", value: .}
          - {from: "state:/{g}/tags/[]", to: tags, member: .}
          - {from: "state:/{g}/stories/[]", to: stories, member: .hash, score: iso8601(.at)}
          - {from: "state:/{g}/stories/[]", to: story, with: {hash: .hash}, value: ., ttl: {from: iso8601(.at)}}
          - {from: "state:/{g}/words/[]", to: words, member: .}
          - {from: "state:/{g}/secret", to: secret, value: .}
`, []printed{
		{"JSONFilesRepositories", `
// JSONFilesRepositories are the records that the migration json_files moves. Each is read and written where
// the phase of its part says.
type JSONFilesRepositories struct {
	k *Keyspace
	m *migrate.Migration
}
`},
		{"Keyspace.JSONFilesRepositories", `
// JSONFilesRepositories gives the repositories of the records that an opened migration moves.
func (k *Keyspace) JSONFilesRepositories(m *migrate.Migration) JSONFilesRepositories {
	return JSONFilesRepositories{k, m}
}
`},
		{"JSONFilesRepositories.Persona", `
// Persona is a record of the move all.persona.
func (r JSONFilesRepositories) Persona(g int64) repository.Value[string] {
	name, err := r.k.ns.PersonaKey(g)
	return repository.NewValue(repository.At(r.m, "all.persona", string(name), err), &value_Persona)
}
`},
		{"JSONFilesRepositories.Persona2", `
// Persona2 is a record of the move all.persona.2.
func (r JSONFilesRepositories) Persona2(g int64) repository.Value[string] {
	name, err := r.k.ns.PersonaKey(g)
	return repository.NewValue(repository.At(r.m, "all.persona.2", string(name), err), &value_Persona)
}
`},
		{"JSONFilesRepositories.Profile", `
// Profile is a record of the move all.profile.
func (r JSONFilesRepositories) Profile(g int64) repository.Value[ProfileValue] {
	name, err := r.k.ns.ProfileKey(g)
	return repository.NewFields(repository.At(r.m, "all.profile", string(name), err), &fields_ProfileValue)
}
`},
		{"JSONFilesRepositories.Feeds", `
// Feeds is a record of the move all.feeds.
func (r JSONFilesRepositories) Feeds(g int64, field string) repository.Value[json.RawMessage] {
	name, err := r.k.ns.FeedsKey(g)
	return repository.NewField(repository.At(r.m, "all.feeds", string(name), err), field, &field_Feeds,
		&value_Feeds)
}
`},
		{"JSONFilesRepositories.Tags", `
// Tags is a record of the move all.tags.
func (r JSONFilesRepositories) Tags(g int64, member string) repository.Member {
	name, err := r.k.ns.TagsKey(g)
	return repository.NewMember(repository.At(r.m, "all.tags", string(name), err), member, &member_Tags)
}
`},
		{"JSONFilesRepositories.Stories", `
// Stories is a record of the move all.stories.
func (r JSONFilesRepositories) Stories(member string) repository.Value[time.Time] {
	name, err := r.k.ns.StoriesKey()
	return repository.NewScore(repository.At(r.m, "all.stories", string(name), err), member, &member_Stories,
		&score_Stories)
}
`},
		{"JSONFilesRepositories.Story", `
// Story is a record of the move all.story.
func (r JSONFilesRepositories) Story(g int64, hash string) repository.Ending[StoryValue] {
	name, err := r.k.ns.StoryKey(g, hash)
	return repository.NewValue(repository.At(r.m, "all.story", string(name), err), &value_Story).Ending()
}
`},
		{"JSONFilesRepositories.Words", `
// Words is a record of the move all.words.
func (r JSONFilesRepositories) Words(g int64) repository.Value[[]string] {
	name, err := r.k.ns.WordsKey(g)
	return repository.NewList(repository.At(r.m, "all.words", string(name), err), &member_Words)
}
`},
		{"JSONFilesRepositories.Secret", `
no JSONFilesRepositories.Secret
`},
	})
}
