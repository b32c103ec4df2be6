// Package zzdeps holds dependencies until their users are there.
package zzdeps

import (
	_ "github.com/cedar-policy/cedar-go"
	_ "github.com/cedar-policy/cedar-go/types"
	_ "github.com/cedar-policy/cedar-go/x/exp/ast"
	_ "github.com/cedar-policy/cedar-go/x/exp/schema"
	_ "github.com/cedar-policy/cedar-go/x/exp/schema/validate"
	_ "github.com/coreos/go-oidc/v3/oidc"
	_ "github.com/go-jose/go-jose/v4"
	_ "github.com/google/jsonschema-go/jsonschema"
	_ "github.com/modelcontextprotocol/go-sdk/mcp"
	_ "github.com/zitadel/oidc/v3/pkg/oidc"
	_ "github.com/zitadel/oidc/v3/pkg/op"
	_ "golang.org/x/text/language"
)
