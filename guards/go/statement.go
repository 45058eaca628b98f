package guard

import (
	"errors"
	"time"
)

// statement is what the issuer says was revoked in a range of its log, and as of when.
type statement struct {
	issuer string
	// log is which log: places of one mean nothing in another.
	log string
	// It has every entry that still counts, of the places after from up to and with to.
	from, to int64
	// head is the newest place there was.
	head    int64
	asOf    time.Time
	entries []revocation
}

const (
	maxEntries         = 2_000
	maxStatementLength = 2_000_000
	maxStatementAge    = time.Minute
	maxNameLength      = 256
)

var errNoStatement = errors.New("no statement")

// parseStatement reads a verified payload. Nothing of it is used unless all of it is understood.
func parseStatement(claims map[string]any) (*statement, error) {
	var s statement
	var ok [7]bool
	var iat int64
	var list []any
	s.issuer, ok[0] = nameOf(claims["iss"])
	s.log, ok[1] = nameOf(claims["log"])
	iat, ok[2] = countOf(claims["iat"])
	s.from, ok[3] = countOf(claims["seq_from"])
	s.to, ok[4] = countOf(claims["seq_to"])
	s.head, ok[5] = countOf(claims["head"])
	list, ok[6] = claims["entries"].([]any)
	if ok != [7]bool{true, true, true, true, true, true, true} {
		return nil, errNoStatement
	}
	if s.from > s.to || s.to > s.head || len(list) > maxEntries {
		return nil, errNoStatement
	}
	s.asOf = time.Unix(iat, 0)
	for _, member := range list {
		entry, ok := parseRevocation(member)
		if !ok || entry.seq <= s.from || entry.seq > s.to {
			return nil, errNoStatement
		}
		s.entries = append(s.entries, entry)
	}
	return &s, nil
}

// nameOf returns a text of 1 to 256 UTF-16 code units, which is how the issuer counts.
func nameOf(value any) (string, bool) {
	text, ok := textOf(value)
	if len(text) <= maxNameLength {
		return text, ok
	}
	units := 0
	for _, r := range text {
		units++
		if r > 0xffff {
			units++
		}
	}
	return text, ok && units <= maxNameLength
}

// parseRevocation returns false for a kind that is not known: what cannot be understood cannot be obeyed.
func parseRevocation(value any) (revocation, bool) {
	member, ok := value.(map[string]any)
	if !ok {
		return revocation{}, false
	}
	kind, _ := member["kind"].(string)
	seq, hasSeq := countOf(member["seq"])
	key, hasKey := nameOf(member["key"])
	exp, hasExp := countOf(member["exp"])
	if !revocationKinds[kind] || !hasSeq || !hasKey || !hasExp {
		return revocation{}, false
	}
	entry := revocation{seq: seq, name: revocationName{kind: kind, key: key}, expiresAt: time.Unix(exp, 0)}
	before, hasBefore := member["issued_before"]
	if hasBefore {
		seconds, ok := countOf(before)
		if !ok {
			return revocation{}, false
		}
		entry.issuedBefore = time.Unix(seconds, 0)
	}
	app, hasApp := member["app_id"]
	if hasApp != (kind == "AUTHORITY") {
		return revocation{}, false
	}
	if hasApp {
		if entry.name.app, ok = nameOf(app); !ok {
			return revocation{}, false
		}
	}
	version, hasVersion := member["min_version"]
	if hasVersion != (kind == "AUTHORITY" || kind == "POLICY") {
		return revocation{}, false
	}
	if hasVersion {
		if entry.minVersion, ok = countOf(version); !ok {
			return revocation{}, false
		}
	}
	// Without it nothing would ever be taken again.
	if kind == "ISSUER_EPOCH" && !hasBefore {
		return revocation{}, false
	}
	return entry, true
}

// position is how far a reader of the feed has come.
type position struct {
	// log is "" before the first statement.
	log string
	// seq is the last place that was read; 0 to begin, also to begin again.
	seq int64
	// head is the newest place that the log was ever said to have: it never has fewer.
	head int64
	// asOf: everything that was revoked until then is known here. Zero while that cannot be said.
	asOf time.Time
}

// Why a statement is not taken. GAP: something before it was missed, so the log is read from its beginning.
const (
	problemIssuer   FeedProblem = "ISSUER"
	problemUntimely FeedProblem = "UNTIMELY"
	problemRollback FeedProblem = "ROLLBACK"
	problemGap      FeedProblem = "GAP"
)

// judge returns the reader's next position, or why the statement is not taken. A log that ends before what was read of it
// has lost what was said, so the reader stays where it is and becomes stale. Another log is read from its beginning.
func (p position) judge(s *statement, issuer string, now time.Time) (position, FeedProblem) {
	if s.issuer != issuer {
		return p, problemIssuer
	}
	if s.asOf.After(now.Add(skew)) || s.asOf.Before(now.Add(-maxStatementAge)) {
		return p, problemUntimely
	}
	isEnd := s.to == s.head
	if s.log != p.log {
		if s.from != 0 {
			return p, problemGap
		}
		// What an earlier log said last is as old as it was: a statement of before that is a replay.
		if s.asOf.Before(p.asOf) {
			return p, problemUntimely
		}
		next := position{log: s.log, seq: s.to, head: s.head, asOf: p.asOf}
		if isEnd {
			next.asOf = s.asOf
		}
		return next, ""
	}
	if s.head < p.head {
		return p, problemRollback
	}
	if s.from > p.seq {
		return p, problemGap
	}
	p.seq, p.head = max(p.seq, s.to), max(p.head, s.head)
	if isEnd && s.asOf.After(p.asOf) {
		p.asOf = s.asOf
	}
	return p, ""
}
