package guard

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"
)

// statusError is an answer that is not 200.
type statusError struct{ status int }

func (e *statusError) Error() string { return fmt.Sprintf("status %d", e.status) }

func hasStatus(err error, status int) bool {
	var wrong *statusError
	return errors.As(err, &wrong) && wrong.status == status
}

// fetcher asks the issuer. Every answer is bounded in time and size, and no redirect is followed: an address that was
// configured must not lead elsewhere.
type fetcher struct{ client *http.Client }

func newFetcher(client *http.Client) fetcher {
	if client == nil {
		client = &http.Client{}
	}
	own := *client
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	own.Jar = nil
	return fetcher{client: &own}
}

type fetchLimits struct {
	timeout  time.Duration
	maxBytes int64
}

type question struct {
	url    string
	bearer string
	// form makes it a POST.
	form url.Values
}

// text returns the body of a 200 answer.
func (f fetcher) text(ctx context.Context, asked question, limits fetchLimits) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, limits.timeout)
	defer cancel()
	method, body := http.MethodGet, io.Reader(nil)
	if asked.form != nil {
		method, body = http.MethodPost, strings.NewReader(asked.form.Encode())
	}
	request, err := http.NewRequestWithContext(ctx, method, asked.url, body)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", "application/json")
	if asked.form != nil {
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	if asked.bearer != "" {
		request.Header.Set("Authorization", "Bearer "+asked.bearer)
	}
	response, err := f.client.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return nil, &statusError{response.StatusCode}
	}
	text, err := io.ReadAll(io.LimitReader(response.Body, limits.maxBytes+1))
	if err != nil {
		return nil, err
	}
	if int64(len(text)) > limits.maxBytes {
		return nil, fmt.Errorf("the response exceeds %d bytes", limits.maxBytes)
	}
	if !utf8.Valid(text) {
		return nil, errors.New("the response is not UTF-8")
	}
	return text, nil
}

// checkAddress returns an error unless the text is an http or https address without a user, query or fragment.
func checkAddress(name, text string) error {
	address, err := url.Parse(text)
	if err != nil || (address.Scheme != "https" && address.Scheme != "http") || address.Host == "" {
		return fmt.Errorf("guard: %s is not an http or https address: %q", name, text)
	}
	if address.User != nil || address.RawQuery != "" || address.Fragment != "" {
		return fmt.Errorf("guard: %s has a user, a query or a fragment", name)
	}
	return nil
}
