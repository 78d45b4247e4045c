package wording

import (
	"strings"

	"github.com/keywright/keywright/infer/page/internal/regex"
)

var (
	// ofKey begins a sentence that goes on about what was named before it: it, cached for, in Redis it.
	ofKey = regex.Lazy(`(?i)^[^\p{L}]*(?:(?:in|im|en|dans)\s+\p{L}+,?\s+)?` +
		`(?:it|they|this|these|both|cached|stored|saved|kept|` +
		`ttl|expir\p{L}*|es|sie|er|diese[rs]?|beide|ablauf|elle|ils?|elles|esta|este|questa|questo)(?:$|[^\p{L}])`)
	// subject is the noun that a sentence begins with.
	subject = regex.Lazy(`(?i)^[^\p{L}]*(?:the|an?|each|every|der|die|das|eine?|jede[rs]?|` +
		`les?|la|une?|chaque|el|l[oa]s|una|` +
		`cada|il|gli|os?|as|uma?)\s+(\p{L}+)|` +
		`^[^\p{L}]*(\p{L}+s)\s+(?:stay|keep|hold|are|have|remain|retain|cache|store|may|can)\b`)
	// entryNoun is a word for a key or what is in it, or for how long it lives.
	entryNoun = regex.Lazy(`(?i)^(?:key|entr|value|ttl|expir|time[^o]|life|retention|` +
		`record|item|element|field|hash|set|list|string|` +
		`stream|counter|lock|data|cache|schlüssel|eintr|wert|ablauf|gültig|lebensdauer|sperre|clé|clef|valeur|durée|` +
		`verrou|clave|valor|vida|vigencia|chave|validade|chiave|valore|durata|scadenza)`)
	// otherTime is how long something else lasts.
	otherTime = regex.Lazy(`(?i)\bruns?\s+(?:for|about|up|at|every|\d)|\bits logs?\b|\blog files?\b`)
)

// GoesOn reports whether a sentence begins with a word for what was named before it.
func GoesOn(sentence string) bool {
	return ofKey.MatchString(sentence) && !otherTime.MatchString(sentence)
}

// IsOfAnother reports whether the time in a sentence that does not name a key is of something else: it has another
// subject, or says nothing of expiry.
func IsOfAnother(sentence, key string) bool {
	low := Folded(sentence)
	return HasOtherSubject(sentence, key) || !subject.MatchString(sentence) && !GoesOn(sentence) &&
		!lastsForm.MatchString(low) && !foreverForm.MatchString(low)
}

// HasOtherSubject reports whether a sentence begins with a noun for something else than a key, or says how long
// something runs.
func HasOtherSubject(sentence, key string) bool {
	m := subject.FindStringSubmatch(sentence)
	return otherTime.MatchString(sentence) || m != nil && !entryNoun.MatchString(m[1]+m[2]) &&
		!isWordOf(Folded(m[1]+m[2]), Folded(key))
}

// isWordOf reports whether a key has a word that another one begins with: sess:{id} of sessions.
func isWordOf(word, key string) bool {
	const least = 3
	for _, w := range WordsIn(key) {
		if len(w) >= least && (strings.HasPrefix(word, w) || strings.HasPrefix(w, word)) {
			return true
		}
	}
	return false
}
