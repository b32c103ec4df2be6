package authn

import (
	"errors"
	"io"
	"net/http"

	"sperrd/internal/httpclient"
)

const (
	// maxBody bounds an answer of the provider, in bytes. Genuine ones have some
	// thousand.
	maxBody = 1 << 20
	// maxRedirects is that of net/http.
	maxRedirects = 10
)

// newTransport honours the proxy of the environment: unlike the peers of market
// communication, a provider of identities may well be outside. A connection is used
// once, since the next fetch is minutes away.
func newTransport() *http.Transport {
	t := httpclient.NewTransport()
	t.Proxy = http.ProxyFromEnvironment
	t.DisableKeepAlives = true
	return t
}

// newClient returns a client that reads no endless answer and leaves https for nobody.
func newClient(transport http.RoundTripper) *http.Client {
	return &http.Client{Transport: boundedTransport{transport}, CheckRedirect: checkRedirect}
}

func checkRedirect(req *http.Request, via []*http.Request) error {
	switch {
	case via[len(via)-1].URL.Scheme == "https" && req.URL.Scheme != "https":
		return errors.New("redirected from https to something else")
	case len(via) >= maxRedirects:
		return errors.New("too many redirects")
	}
	return nil
}

// boundedTransport bounds the answers of another transport. The library reads a
// discovery document to its end, however far that is.
type boundedTransport struct{ base http.RoundTripper }

func (t boundedTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := t.base.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	resp.Body = &boundedBody{ReadCloser: resp.Body, left: maxBody}
	return resp, nil
}

var errTooLong = errors.New("the answer is longer than 1 MiB")

type boundedBody struct {
	io.ReadCloser
	left int
}

// Read reads one byte more than allowed, to tell an answer that ends from one that
// does not.
func (b *boundedBody) Read(p []byte) (int, error) {
	if len(p) > b.left+1 {
		p = p[:b.left+1]
	}
	n, err := b.ReadCloser.Read(p)
	if n > b.left {
		n, err = b.left, errTooLong
	}
	b.left -= n
	return n, err
}
