// A grant model for Cedar, written idiomatically and independently of our code: places are a hierarchy of entities,
// roles and scopes are groups of actions, and a grant is a policy.
import type { Context, Decision, EntityJson, EntityUidJson } from "@cedar-policy/cedar-wasm/nodejs"
import { preparsePolicySet, statefulIsAuthorized } from "@cedar-policy/cedar-wasm/nodejs"
import type { Place } from "@signet/kernel/administration/ports"
import type { ResourceRef } from "@signet/kernel/authz/grants"
import type { GrantModel } from "./model.ts"

/** Asks Cedar about the model's resource. @returns "allow" or "deny". */
type AskCedar = (resource: ResourceRef, isPlaceAsked: boolean) => Decision

const policySetId = "grants"

export function cedarOf(model: GrantModel): AskCedar {
  const parsed = preparsePolicySet(policySetId, { staticPolicies: policiesOf(model) })
  if (parsed.type === "failure") throw new Error(JSON.stringify(parsed.errors))
  const entities = entitiesOf(model)
  return (resource, isPlaceAsked) => {
    const context: Context = { now: model.nowMs, isPlaceAsked }
    const answer = statefulIsAuthorized({
      principal: caller,
      action: uid("Action", model.permission),
      resource: resourceUid(resource),
      context,
      preparsedPolicySetId: policySetId,
      entities,
    })
    if (answer.type === "failure") throw new Error(JSON.stringify(answer.errors))
    const { decision, diagnostics } = answer.response
    if (diagnostics.errors.length > 0) throw new Error(JSON.stringify(diagnostics.errors))
    return decision
  }
}

const uid = (type: string, id: string): { type: string; id: string } => ({ type, id })
const text = ({ type, id }: { type: string; id: string }) => `${type}::${JSON.stringify(id)}`
const caller = uid("User", "caller")

function policiesOf({ snapshot: { roles, grants } }: GrantModel): string {
  const permits = grants.map((grant) => {
    const isInherited = roles.get(grant.roleId)?.inheritable === true
    const head = `principal == ${text(caller)}, action in ${text(roleUid(grant.roleId))}`
    const node = text(placeUid(grant))
    const conditions = [
      "action in principal.scopes",
      ...(grant.expiresAtMs === null ? [] : [`context.now < ${grant.expiresAtMs}`]),
    ]
    // A grant on a resource applies to that resource in its place. A grant on a node applies to the node itself, or to
    // everything in it.
    if (grant.resource !== null) {
      const resource = text(resourceUid({ ...grant, ...grant.resource }))
      return `permit (${head}, resource == ${resource}) when { ${conditions.join(" && ")} };`
    }
    const relation = isInherited ? "in" : "=="
    return `permit (${head}, resource ${relation} ${node}) when { ${conditions.join(" && ")} };`
  })
  const elsewhere = `forbid (principal, action, resource) when { context.isPlaceAsked && resource.place != principal.place };`
  return [elsewhere, ...permits].join("\n")
}

function entitiesOf({ snapshot, scopes, place, places, resources, permission }: GrantModel): EntityJson[] {
  const groups = [
    ...[...snapshot.roles].flatMap(([id, role]) => (role.permissions.has(permission) ? [roleUid(id)] : [])),
    ...[...snapshot.scopes].flatMap(([id, lets]) => (lets.has(permission) ? [scopeUid(id)] : [])),
  ]
  const heldScopes = [...scopes].map((id) => ({ __entity: scopeUid(id) }))
  const bound = new Map(resources.map((resource) => [resourceUid(resource).id, resource]))
  return [
    { uid: caller, attrs: { scopes: heldScopes, place: { __entity: placeUid(place) } }, parents: [] },
    { uid: uid("Action", permission), attrs: {}, parents: groups },
    ...places.map((one) => ({ uid: placeUid(one), attrs: {}, parents: parentsOf(one) })),
    ...[...bound.values()].map((resource) => ({
      uid: resourceUid(resource),
      attrs: { place: { __entity: placeUid(resource) } },
      parents: [placeUid(resource)],
    })),
  ]
}

const roleUid = (id: string) => uid("Action", `role ${id}`)
const scopeUid = (id: string) => uid("Action", `scope ${id}`)

/** The innermost of app, tenant and context. Their ids are distinct. */
const placeUid = ({ appId, tenantId, contextId }: Place) => uid("Place", contextId ?? tenantId ?? appId)

function parentsOf({ appId, tenantId, contextId }: Place): EntityUidJson[] {
  if (contextId !== null && tenantId !== null) return [uid("Place", tenantId)]
  return contextId !== null || tenantId !== null ? [uid("Place", appId)] : []
}

const resourceUid = (of: Place & { type: string; id: string }) =>
  uid("Resource", `${placeUid(of).id}/${of.type}/${of.id}`)
