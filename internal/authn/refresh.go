package authn

import (
	"context"
	"fmt"
	"time"
)

const (
	// fetchTimeout bounds one request to the provider, its body included.
	fetchTimeout = 10 * time.Second
	// LongestWait bounds how long a request waits for a key that is not known.
	LongestWait = fetchTimeout
	// refreshEvery is how long a key that the provider has withdrawn may live on.
	refreshEvery = 5 * time.Minute
	// firstRetry and longestRetry are the waits after a failed fetch.
	firstRetry   = 1 * time.Second
	longestRetry = 30 * time.Second
)

// mapperHint is what most set-ups lack at first: by default Keycloak names itself as
// the audience, and of tenant and roles it knows nothing.
const mapperHint = "tokens need this audience and the claims mako_tenant and mako_roles: " +
	"in Keycloak an audience mapper and a mapper for each of the two"

// Run fetches the provider's keys at once unless they are known, again every five
// minutes, and when a token names a key that is not known. A failure is logged, retried
// and takes no key away. It returns when ctx ends and is called once; without it no
// request waits for a key.
func (a *Authenticator) Run(ctx context.Context) {
	a.demand.serve(true)
	defer a.demand.serve(false)
	timer := time.NewTimer(0)
	defer timer.Stop()
	if a.Keys() > 0 { // somebody has called Refresh
		a.report(ctx, nil)
		timer.Reset(refreshEvery)
	}
	var failures int
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
			err := a.Refresh(ctx)
			a.report(ctx, err)
			if err == nil {
				failures = 0
				timer.Reset(refreshEvery)
				continue
			}
			failures++
			timer.Reset(retryWait(failures, a.Keys()))
		case <-a.demand.wake:
			a.demand.begin()
			news, err := a.fetchKnown(ctx)
			a.demand.end(a.now(), news, err)
			a.report(ctx, err)
		}
	}
}

// retryWait is the wait after the given number of failures in a row. While there is
// no key nobody can work, so the first attempts follow each other quickly.
func retryWait(failures, keys int) time.Duration {
	wait := firstRetry
	for range failures - 1 {
		wait = min(2*wait, longestRetry)
	}
	if keys > 0 {
		wait = longestRetry
	}
	return wait
}

// report logs a failure, and a success if it is the first or the first after one.
func (a *Authenticator) report(ctx context.Context, err error) {
	switch {
	case ctx.Err() != nil:
	case err != nil:
		a.reachable = false
		a.logger.WarnContext(ctx, "keys of the OIDC provider could not be fetched",
			"issuer", a.issuer, "reason", err.Error(), "keys", a.Keys())
	case !a.reachable:
		a.reachable = true
		a.logger.InfoContext(ctx, "keys of the OIDC provider fetched",
			"issuer", a.issuer, "audience", a.audience, "keys", a.Keys(), "hint", mapperHint)
	}
}

// Refresh asks the provider now: for its discovery document and then for its keys,
// which take the place of those known. After an error those stay. It may be called
// with or without Run.
func (a *Authenticator) Refresh(ctx context.Context) error {
	release, err := a.acquire(ctx)
	if err != nil {
		return err
	}
	defer release()
	keysURL, err := a.discover(ctx)
	if err != nil {
		return err
	}
	a.keysURL = keysURL
	_, err = a.fetchKeys(ctx)
	return err
}

// fetchKnown fetches the keys alone, from where they were last time.
func (a *Authenticator) fetchKnown(ctx context.Context) (news bool, err error) {
	release, err := a.acquire(ctx)
	if err != nil {
		return false, err
	}
	defer release()
	return a.fetchKeys(ctx)
}

// acquire lets one fetch go on at a time, so that an old answer that comes late
// replaces no newer one.
func (a *Authenticator) acquire(ctx context.Context) (release func(), err error) {
	select {
	case a.fetching <- struct{}{}:
		return func() { <-a.fetching }, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("wait for another fetch of the keys: %w", ctx.Err())
	}
}
