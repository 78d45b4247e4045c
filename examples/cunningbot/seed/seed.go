// Package seed makes JSON files as CunningBot had them before it kept its state in Redis: real
// shapes and sizes, with what makes them hard to move. Ids of channels are numbers in some places
// and texts in others, and above 2^53; names are in several scripts; times have zones; games are
// open and over, and results of older ones are there; a batch was taken and not posted to its end.
package seed

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/keywright/keywright/examples/cunningbot/state"
)

// Options say how much there is. The same ones make the same files, byte for byte.
type Options struct {
	Seed     uint64
	Now      time.Time
	Guilds   int // 0: 12
	Articles int // that wait, over all guilds; 0: 3200, some 2.3 MB
	Stories  int // of the history; 0: 110, some 34 KB
	Items    int // that may be breaking news; 0: 40
}

type maker struct {
	Options
	r *rand.Rand
}

type object map[string]any

// Write writes the files into a folder that has none of them.
func Write(dir string, o Options) error {
	o.Guilds, o.Articles = cmp.Or(o.Guilds, 12), cmp.Or(o.Articles, 3200)
	o.Stories, o.Items = cmp.Or(o.Stories, 110), cmp.Or(o.Items, 40)
	m := &maker{o, rand.New(rand.NewPCG(o.Seed, 99))}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	guilds := make([]string, o.Guilds)
	channels := map[string][]string{}
	for i := range guilds {
		guilds[i] = m.snowflake()
		for range 2 + m.r.IntN(4) {
			channels[guilds[i]] = append(channels[guilds[i]], m.snowflake())
		}
	}
	all, feeds := m.state(guilds, channels)
	for _, f := range []struct {
		name string
		is   any
	}{
		{"app_state.json", all},
		{"pending_news.json", m.pending(guilds, channels, feeds)},
		{"pending_batches.json", object{guilds[0]: object{channels[guilds[0]][0]: fmt.Sprintf("b%d", m.Now.UnixMicro())}}},
		{"pending_breaking_news.json", m.items(guilds, channels)},
		{"story_history.json", m.history(guilds, channels)},
	} {
		text, err := json.MarshalIndent(f.is, "", "  ")
		if err != nil {
			return err
		}
		// never over a file in use
		file, err := os.OpenFile(filepath.Join(dir, f.name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return err
		}
		_, err = file.Write(append(text, '\n'))
		if err := errors.Join(err, file.Close()); err != nil {
			return err
		}
	}
	return nil
}

// snowflake returns an id as Discord makes them: above 2^53.
func (m *maker) snowflake() string {
	return strconv.FormatUint(800_000_000_000_000_000+m.r.Uint64N(400_000_000_000_000_000), 10)
}

func pick[T any](m *maker, from []T) T { return from[m.r.IntN(len(from))] }

var (
	feedNames = []string{"San Diego News", "BBC World", "Hacker News", "Le Monde", "Süddeutsche", "朝日新聞", "NASA",
		"Ars Technica", "The Verge", "Reuters"}
	words = strings.Fields("council harbour storm election launch budget river museum strike bridge orbit " +
		"tariff wildfire rescue verdict summit vaccine drought festival merger")
	places = []string{"San Diego", "Zürich", "東京", "São Paulo", "Oslo", "Québec", "Kyiv", "Nairobi"}
	topics = []string{"hurricane", "earthquake", "wildfire", "election", "outage"}
)

func (m *maker) sentence(n int) string {
	out := make([]string, n)
	for i := range out {
		out[i] = pick(m, words)
	}
	return strings.Join(out, " ")
}

func (m *maker) ago(most time.Duration) time.Time {
	return m.Now.Add(-time.Duration(m.r.Int64N(int64(most)))).UTC().Truncate(time.Second)
}

func (m *maker) article(feed string, queued time.Time) object {
	slug := strings.ReplaceAll(m.sentence(5), " ", "-")
	url := fmt.Sprintf("https://news.example/%d/%s-%d", queued.Year(), slug, m.r.Uint64())
	return object{"id": state.StoryHash(url), "item": url,
		"title": fmt.Sprintf("%s: %s", pick(m, places), m.sentence(7)), "url": url,
		"summary": m.sentence(18) + " “" + m.sentence(4) + "” <b>&amp;</b>.", "feed": feed,
		"published": queued.Add(-time.Hour).Format(time.RFC3339), "queued_at": queued.Format(time.RFC3339Nano)}
}

// jsonNumber returns an id as the bot's old code wrote it: a number.
func jsonNumber(id string) json.Number { return json.Number(id) }

func (m *maker) state(guilds []string, channels map[string][]string) (all object, feeds map[string][]string) {
	all = object{"global": object{"default_persona": "You are a helpful bot with a dry humour."}}
	feeds = map[string][]string{}
	for i, g := range guilds {
		of, rss, seen := object{}, object{}, object{}
		if i%2 == 0 {
			of["current_personality"] = "A pirate from " + pick(m, places) + ". Arr!"
		}
		if i%3 == 0 {
			of["default_persona"] = "A librarian 📚"
		}
		for _, n := range m.r.Perm(len(feedNames))[:2+m.r.IntN(4)] {
			name := feedNames[n]
			items := object{}
			for range 5 + m.r.IntN(10) {
				items[fmt.Sprintf("https://news.example/seen/%d", m.r.Uint64())] = m.ago(200 * time.Hour).Unix()
			}
			rss[name] = object{"url": fmt.Sprintf("https://feeds.example/%d.xml", n), "enabled": m.r.IntN(5) > 0,
				"channel_id": jsonNumber(pick(m, channels[g])), "added_by": m.snowflake()}
			seen[state.Slug(name)] = items
			feeds[g] = append(feeds[g], name)
		}
		of["rss_feeds"], of["rss_seen"] = rss, seen
		of["breaking_news_topics"] = topics[:1+i%len(topics)]
		to := object{}
		for _, topic := range topics[:1+i%len(topics)] {
			to[topic] = jsonNumber(pick(m, channels[g]))
		}
		of["breaking_news_channels"] = to
		of["dedup_windows"] = object{channels[g][0]: 6 + m.r.IntN(163)}
		of["trivia_registrations"] = object{fmt.Sprintf("reg%d", i): object{"channel_id": jsonNumber(channels[g][0]),
			"topic": pick(m, words), "minute": m.r.IntN(1440), "lasts_seconds": 3600}}
		of["trivia_games"], of["trivia_results"] = m.games(channels[g][0])
		of["daily_games"] = object{"Wordle": object{"channel_id": channels[g][0], "text": "https://wordle.example 🟩",
			"enabled": true},
			"Crossword " + pick(m, places): object{"channel_id": jsonNumber(channels[g][1]), "text": "A crossword",
				"enabled": i%4 != 0}}
		minutes := object{}
		for name := range of["daily_games"].(object) {
			minutes[name] = 60 * (6 + i%12)
		}
		of["schedules"] = minutes
		all[g] = of
	}
	return all, feeds
}

// games returns one that runs and one that is over and has no result yet, and results of older ones.
func (m *maker) games(channel string) (games, results object) {
	games, results = object{}, object{}
	for i, ends := range []time.Duration{time.Hour, -10 * time.Minute, -72 * time.Hour} {
		answers := object{}
		for range m.r.IntN(9) {
			answers[m.snowflake()] = object{"answer": pick(m, []string{"Mercury", "Venus", "Mars"}),
				"at": m.Now.Add(ends - 30*time.Minute).UTC().Format(time.RFC3339)}
		}
		at, question := m.Now.Add(ends), "Which planet is it? ("+m.sentence(3)+")"
		id := fmt.Sprintf("game-%d", m.r.Uint32())
		if i == 2 {
			results[id] = object{"question": question, "answer": "Venus", "answers": len(answers), "right": []string{},
				"ended_at": at.UTC().Format(time.RFC3339)}
			continue
		}
		games[id] = object{"question": question, "options": []string{"Mercury", "Venus", "Mars"}, "answer": "Venus",
			"channel_id": jsonNumber(channel), "started_at": at.Add(-time.Hour).Unix(), "ends_at": at.Unix(), "status": "open",
			"message_id": m.snowflake(), "submissions": answers}
	}
	return games, results
}

func (m *maker) pending(guilds []string, channels, feeds map[string][]string) object {
	out := object{}
	for range m.Articles {
		g := pick(m, guilds)
		c, f := pick(m, channels[g]), pick(m, feeds[g])
		in(in(out, g), c)
		list, _ := out[g].(object)[c].(object)[f].([]object)
		out[g].(object)[c].(object)[f] = append(list, m.article(f, m.ago(30*time.Hour)))
	}
	return out
}

// in returns the object of a member, made if it is not there.
func in(o object, name string) object {
	if o[name] == nil {
		o[name] = object{}
	}
	return o[name].(object)
}

func (m *maker) items(guilds []string, channels map[string][]string) object {
	out := object{}
	for n := range m.Items {
		g := guilds[n%len(guilds)]
		a := m.article("Reuters", m.ago(3*time.Hour))
		list, _ := out[g].([]object)
		out[g] = append(list, object{"article": a, "topic": topics[0], "channel_id": jsonNumber(pick(m, channels[g])),
			"retry_count": m.r.IntN(3), "queued_at": a["queued_at"]})
	}
	return out
}

func (m *maker) history(guilds []string, channels map[string][]string) object {
	out := object{}
	for range m.Stories {
		g := pick(m, guilds)
		a := m.article("", m.ago(96*time.Hour))
		hash, at := a["id"].(string), a["queued_at"]
		in(in(in(out, g), "channels"), pick(m, channels[g]))[hash] = at
		in(in(out, g), "stories")[hash] = object{"hash": hash, "title": a["title"], "url": a["url"], "posted_at": at}
	}
	return out
}
