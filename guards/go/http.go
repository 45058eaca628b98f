package guard

import (
	"bytes"
	"fmt"
	"io"
	"mime"
	"net/http"
	"regexp"
	"slices"
	"strings"
)

// HTTPOptions configures [Guard.HTTP].
type HTTPOptions struct {
	EndpointOptions
	// MaxBodyBytes is the longest JSON body that a requirement is read from: 65,536 where it is 0. The handler gets the
	// body unread, however long it is.
	MaxBodyBytes int64
}

// HTTPGuard protects handlers of net/http.
type HTTPGuard struct {
	guard   *Guard
	options HTTPOptions
}

// HTTP returns what protects handlers. Use [Guard.Handler] where no option is needed.
func (g *Guard) HTTP(options HTTPOptions) *HTTPGuard {
	if options.MaxBodyBytes <= 0 {
		options.MaxBodyBytes = 65_536
	}
	return &HTTPGuard{guard: g, options: options}
}

// Handler returns a handler that answers only callers who meet the requirement; the rest get a problem (RFC 9457) and a
// challenge (RFC 6750). [Caller] tells the handler who is calling. It panics when the requirement cannot be checked,
// so that a program with a mistake does not start; [HTTPGuard.Middleware] returns an error instead.
//
// PathNames are the variables that the route has; a requirement may read no other.
func (g *Guard) Handler(requirement Requirement, next http.Handler, pathNames ...string) http.Handler {
	protect, err := g.HTTP(HTTPOptions{}).Middleware(requirement, pathNames...)
	if err != nil {
		panic(err)
	}
	return protect(next)
}

var (
	headerPattern   = regexp.MustCompile(`\A[a-z0-9-]+\z`)
	wildcardPattern = regexp.MustCompile(`\{([^{}]*?)(?:\.\.\.)?\}`)
)

// Handle registers a protected handler for a pattern of http.ServeMux. It returns an error where the requirement names a
// path variable that the pattern does not have, or cannot be checked otherwise.
func (h *HTTPGuard) Handle(mux *http.ServeMux, pattern string, requirement Requirement, next http.Handler) error {
	var names []string
	for _, match := range wildcardPattern.FindAllStringSubmatch(pattern, -1) {
		names = append(names, match[1])
	}
	protect, err := h.Middleware(requirement, names...)
	if err != nil {
		return fmt.Errorf("guard: %s: %w", pattern, err)
	}
	mux.Handle(pattern, protect(next))
	return nil
}

// Middleware returns what protects handlers with one requirement. PathNames are the variables that their route has, as
// http.Request.PathValue knows them.
func (h *HTTPGuard) Middleware(requirement Requirement, pathNames ...string) (func(http.Handler) http.Handler, error) {
	endpoint, err := h.guard.Endpoint(requirement, h.options.EndpointOptions, func(from Source, field string) error {
		switch {
		case from == FromPath && field != "" && slices.Contains(pathNames, field):
		case from == FromBody && field != "":
		case from == FromHeader && headerPattern.MatchString(field):
		default:
			return fmt.Errorf("%s has no field %q here", from, field)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			caller, err := endpoint.Decide(r.Context(), r.Header.Values("Authorization"), func() ReadValue {
				return h.reader(r, endpoint.ReadsBody())
			})
			if err != nil {
				WriteProblem(w, err)
				return
			}
			if caller != nil {
				r = r.WithContext(WithCaller(r.Context(), caller))
			}
			next.ServeHTTP(w, r)
		})
	}, nil
}

func (h *HTTPGuard) reader(r *http.Request, readsBody bool) ReadValue {
	var body any
	if readsBody {
		body = h.readBody(r)
	}
	return func(from Source, field string) string {
		switch from {
		case FromPath:
			return r.PathValue(field)
		case FromHeader:
			return strings.Join(r.Header.Values(field), ", ")
		case FromBody:
			return jsonField(body, field)
		}
		return ""
	}
}

type restoredBody struct {
	io.Reader
	io.Closer
}

// readBody returns the JSON in the body; nil where it is none, is too long, or has a name twice: then nothing in it is
// believed. The handler reads the same bytes again.
func (h *HTTPGuard) readBody(r *http.Request) any {
	media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || (media != "application/json" && media != "application/connect+json") || r.Body == nil {
		return nil
	}
	text, err := io.ReadAll(io.LimitReader(r.Body, h.options.MaxBodyBytes+1))
	rest := io.Reader(r.Body)
	if err != nil {
		rest = &failingReader{err}
	}
	r.Body = restoredBody{io.MultiReader(bytes.NewReader(text), rest), r.Body}
	if err != nil || int64(len(text)) > h.options.MaxBodyBytes {
		return nil
	}
	value, err := parseJSON(text)
	if err != nil || hasDuplicateNames(text) {
		return nil
	}
	return value
}

type failingReader struct{ err error }

func (f *failingReader) Read([]byte) (int, error) { return 0, f.err }

var camelPattern = regexp.MustCompile(`_+([a-z0-9])`)

// jsonField returns one text in a JSON value, by a path of the schema with dots. A name may be written as the schema has
// it or in lowerCamelCase, as proto3 JSON may. It is "" where it is missing, no text, or written in more than one way: a
// handler could read the other one. Letter case does not count, because encoding/json finds fields in any case.
func jsonField(value any, path string) string {
	for _, name := range strings.Split(path, ".") {
		object, ok := value.(map[string]any)
		if !ok {
			return ""
		}
		camel := camelPattern.ReplaceAllStringFunc(name, func(part string) string {
			return strings.ToUpper(strings.TrimLeft(part, "_"))
		})
		spellings := 0
		for key := range object {
			if strings.EqualFold(key, name) || strings.EqualFold(key, camel) {
				spellings++
			}
		}
		found, ok := object[name]
		if !ok {
			found, ok = object[camel]
		}
		if !ok || spellings != 1 {
			return ""
		}
		value = found
	}
	text, _ := textOf(value)
	return text
}
