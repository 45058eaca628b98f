package guard

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"math"
	"strings"
	"unicode/utf8"
)

var errNotStrict = errors.New("not as an encoder writes it")

var strictBase64 = base64.RawURLEncoding.Strict()

// decodeBase64 decodes base64url without padding and rejects any text that no encoder writes.
func decodeBase64(text string) ([]byte, error) {
	// The decoder ignores line ends.
	if strings.ContainsAny(text, "\r\n") {
		return nil, errNotStrict
	}
	return strictBase64.DecodeString(text)
}

// decodeObject decodes a JSON object in base64url. Numbers are json.Number.
func decodeObject(part string) (map[string]any, []byte, error) {
	text, err := decodeBase64(part)
	if err != nil {
		return nil, nil, err
	}
	object, err := parseObject(text)
	return object, text, err
}

// parseObject reads text that is one JSON object in valid UTF-8 and nothing else.
func parseObject(text []byte) (map[string]any, error) {
	value, err := parseJSON(text)
	if err != nil {
		return nil, err
	}
	if object, ok := value.(map[string]any); ok {
		return object, nil
	}
	return nil, errNotStrict
}

func parseJSON(text []byte) (any, error) {
	// encoding/json replaces what is not UTF-8, and two texts would read alike.
	if !utf8.Valid(text) {
		return nil, errNotStrict
	}
	decoder := json.NewDecoder(strings.NewReader(string(text)))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return nil, err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errNotStrict
	}
	return value, nil
}

// hasDuplicateNames reports whether an object in valid JSON has a name twice; escapes in names are resolved.
func hasDuplicateNames(text []byte) bool {
	decoder := json.NewDecoder(strings.NewReader(string(text)))
	decoder.UseNumber()
	type level struct {
		names  map[string]bool // nil for a list
		isName bool
	}
	var open []level
	for {
		token, err := decoder.Token()
		if err != nil {
			return !errors.Is(err, io.EOF)
		}
		delim, isDelim := token.(json.Delim)
		if isDelim && (delim == '}' || delim == ']') {
			open = open[:len(open)-1]
			continue
		}
		if len(open) > 0 {
			top := &open[len(open)-1]
			if top.names != nil {
				if name, ok := token.(string); ok && top.isName {
					if top.names[name] {
						return true
					}
					top.names[name] = true
				}
				top.isName = !top.isName
			}
		}
		switch {
		case isDelim && delim == '{':
			open = append(open, level{names: map[string]bool{}, isName: true})
		case isDelim && delim == '[':
			open = append(open, level{})
		}
	}
}

// textOf returns a text that is not empty.
func textOf(value any) (string, bool) {
	text, ok := value.(string)
	return text, ok && text != ""
}

// textsOf returns a list of texts none of which is empty.
func textsOf(value any) ([]string, bool) {
	list, ok := value.([]any)
	if !ok {
		return nil, false
	}
	texts := make([]string, 0, len(list))
	for _, member := range list {
		text, ok := textOf(member)
		if !ok {
			return nil, false
		}
		texts = append(texts, text)
	}
	return texts, true
}

const maxSafeInteger = 1<<53 - 1

// numberOf returns a number as a double has it, as JSON in other languages does.
func numberOf(value any) (float64, bool) {
	number, ok := value.(json.Number)
	if !ok {
		return 0, false
	}
	double, err := number.Float64()
	if err != nil && !math.IsInf(double, 0) {
		return 0, false
	}
	return double, true
}

// countOf returns a whole number that is not negative and that a double counts exactly.
func countOf(value any) (int64, bool) {
	number, ok := numberOf(value)
	if !ok || number < 0 || number > maxSafeInteger || number != math.Trunc(number) {
		return 0, false
	}
	return int64(number), true
}
