// Package authz decides whether a caller may do what a route does, by Cedar policies.
// It never looks at a token, an order or the database: it gets what the token said
// and the action of the route, and says yes or no. Whatever no policy permits is
// denied, and so is whatever a policy cannot judge.
package authz
