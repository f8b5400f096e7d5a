package policycheck

import (
	"context"
	"fmt"
	"slices"
	"strings"

	celgo "github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/manifests"
)

// grantsOf returns the rules of the roles among objects, and of the cluster roles that every cluster has, except for those
// that grant everything.
func grantsOf(ctx context.Context, config *rest.Config, objects []manifests.Object) ([]rbacv1.PolicyRule, error) {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	roles, err := client.RbacV1().ClusterRoles().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("reading the cluster roles of the server: %w", err)
	}
	var grants []rbacv1.PolicyRule
	for _, role := range roles.Items {
		grants = append(grants, role.Rules...)
	}
	for _, object := range objects {
		role := &rbacv1.ClusterRole{} // Role has the same rules
		if object.GroupVersionKind().Group == rbacv1.GroupName && runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, role) == nil {
			grants = append(grants, role.Rules...)
		}
	}
	return slices.DeleteFunc(grants, func(rule rbacv1.PolicyRule) bool {
		return slices.Contains(rule.Verbs, "*") && (slices.Contains(rule.Resources, "*") || slices.Contains(rule.NonResourceURLs, "*"))
	}), nil
}

// authorizes checks that a role grants what the expressions of an object ask the authorizer for.
func (c *checker) authorizes(i int) {
	env, err := celgo.NewEnv(celgo.OptionalTypes())
	if err != nil {
		return
	}
	for _, e := range expressionsOf(c.objects[i].Object, "") {
		parsed, issues := env.Parse(e.text)
		if issues != nil && issues.Err() != nil {
			continue // the server has refused the expression
		}
		for _, asked := range permissionsOf(parsed.NativeRep()) {
			if !slices.ContainsFunc(c.grants, asked.isGranted) {
				c.add(i, e.field, "asks for %s, which no role here grants, so that only an admin has it: correct the names, or add the role", asked)
			}
		}
	}
}

// permission is what a check of the authorizer asks for, such as
// authorizer.group('example.com').resource('gears').check('oil').
type permission struct{ verb, group, resource, subresource, path string }

// String returns the permission in the words of roles.
func (p permission) String() string {
	if p.path != "" {
		return fmt.Sprintf("the verb %q for the path %q", p.verb, p.path)
	}
	return fmt.Sprintf("the verb %q for %q in the group %q", p.verb, p.full(), p.group)
}

func (p permission) full() string {
	if p.subresource == "" {
		return p.resource
	}
	return p.resource + "/" + p.subresource
}

func (p permission) isGranted(rule rbacv1.PolicyRule) bool {
	if !has(rule.Verbs, p.verb) {
		return false
	}
	if p.path != "" {
		return slices.ContainsFunc(rule.NonResourceURLs, func(path string) bool {
			prefix, open := strings.CutSuffix(path, "*")
			return path == p.path || open && strings.HasPrefix(p.path, prefix)
		})
	}
	return has(rule.APIGroups, p.group) && (has(rule.Resources, p.full()) || p.subresource != "" && slices.Contains(rule.Resources, "*/"+p.subresource))
}

// permissionsOf returns the permissions that an expression asks for by constant names.
func permissionsOf(parsed *ast.AST) []permission {
	var all []permission
	for _, checked := range ast.MatchDescendants(ast.NavigateAST(parsed), ast.FunctionMatcher("check")) {
		if found, constant := permissionOf(checked); constant && !slices.Contains(all, found) {
			all = append(all, found)
		}
	}
	return all
}

// permissionOf returns the permission of a call of check. It returns false if a name isn't constant, or if the call isn't
// of authorizer.group(...) or authorizer.path(...).
func permissionOf(call ast.Expr) (permission, bool) {
	var p permission
	for call.Kind() == ast.CallKind {
		of := call.AsCall()
		if !of.IsMemberFunction() {
			return p, false
		}
		value := ""
		if len(of.Args()) > 0 {
			text, isText := of.Args()[0], false
			if text.Kind() == ast.LiteralKind {
				value, isText = text.AsLiteral().Value().(string)
			}
			into := map[string]*string{"check": &p.verb, "group": &p.group, "resource": &p.resource, "subresource": &p.subresource, "path": &p.path}[of.FunctionName()]
			if into != nil {
				if !isText {
					return p, false
				}
				*into = value
			}
		}
		call = of.Target()
	}
	isAuthorizer := call.Kind() == ast.IdentKind && call.AsIdent() == "authorizer"
	return p, isAuthorizer && p.verb != "" && (p.resource != "" || p.path != "")
}
