// Explains the decision about a call to an administrator: the kernel's own explanation, over the current facts.
import type { MessageInitShape } from "@bufbuild/protobuf"
import type { HandlerContext } from "@connectrpc/connect"
import { parseBearer } from "@signet/guard/bearer"
import { parseRequirement } from "@signet/guard/requirement"
import type { AuthContext } from "@signet/kernel/authz/context"
import { type Explained, type Explanation, explain } from "@signet/kernel/authz/explain"
import type { ResourceRef } from "@signet/kernel/authz/grants"
import type { Question, RequestFacts } from "@signet/kernel/authz/question"
import { checksIn, type Freshness, type Requirement, resourceKey, tenantKey } from "@signet/kernel/authz/requirement"
import { type Reason, Refused } from "@signet/kernel/errors"
import { type ContextId, parseId, type TenantId } from "@signet/kernel/ids"
import type {
  ExplainAccessRequest,
  ExplainAccessResponseSchema,
  ExplainedCheckSchema,
} from "@signet/proto/auth/v1/audit_service"
import { Reason as WireReason } from "@signet/proto/authz/v1/reason"
import { type AdminTransaction, administer } from "../admin/administer.ts"
import type { TokenDeps } from "../token/deps.ts"

/** Returns the requirement of a method of this server; undefined for an unknown one. */
export type RequirementOf = (method: string) => Requirement | undefined

/** This server's own freshness, as in its guard. */
const defaultFreshness: Freshness = { maxStalenessMs: 60_000, onStale: "INTROSPECT" }

/** @throws Refused INVALID_FIELD; RESOURCE_UNRESOLVED for a token outside of the caller's scope. */
export async function explainAccess(
  deps: TokenDeps,
  context: HandlerContext,
  request: ExplainAccessRequest,
  requirementOf: RequirementOf,
): Promise<MessageInitShape<typeof ExplainAccessResponseSchema>> {
  const requirement = requirementIn(request, requirementOf)
  const bearer = parseBearer(`Bearer ${request.accessToken}`)
  const holder = typeof bearer === "string" ? bearer : await deps.verify(bearer.token)
  // Counted as a write, so that nobody can try many tokens.
  const known = await administer(deps, context, "write", (admin) => knownOf(admin, holder))
  const question = { requirement, defaultFreshness, nowMs: known.nowMs }
  if (typeof holder === "string") {
    const expected = { issuer: deps.issuer, audience: deps.authAudience }
    const unknown = { context: holder, request: {}, liveness: "unknown", snapshot: null } as const
    return shape(explain({ ...question, ...unknown, expected }), holder)
  }
  const expected = { issuer: deps.issuer, audience: request.audience || holder.audience }
  const { snapshot } = known
  // Not inside of the transaction: this is a query of its own, and the embedded database has one connection.
  const liveness = await deps.liveness(holder)
  const facts = { request: requestFacts(holder, request, requirement), liveness, snapshot }
  return shape(explain({ ...question, ...facts, context: holder, expected }))
}

/** Checks that the caller administers the place of the token, and then reads the permissions of its holder. */
async function knownOf(
  { reach, tx, nowMs }: AdminTransaction,
  holder: AuthContext | Reason,
): Promise<Pick<Question, "snapshot" | "nowMs">> {
  if (typeof holder === "string") return { snapshot: null, nowMs }
  reach(holder)
  const { appId, tenantId, contextId, principal } = holder
  const { snapshot } = await tx.authorities.snapshot({ appId, tenantId, contextId, principalId: principal.id, nowMs })
  return { snapshot, nowMs }
}

/** The request's resource and tenant under each name by which the requirement asks for one. */
function requestFacts(
  { appId }: AuthContext,
  { resource, tenantId }: ExplainAccessRequest,
  requirement: Requirement,
): RequestFacts {
  const resources = new Map<string, ResourceRef>()
  const tenants = new Map<string, string>()
  for (const check of checksIn(requirement)) {
    if (check.is === "tenant" && tenantId !== "") tenants.set(tenantKey(check), tenantId)
    if (check.is !== "resourceAction" || resource === undefined) continue
    const place = { tenantId: idIn("ten", resource.tenantId), contextId: idIn("ctx", resource.contextId) }
    resources.set(resourceKey(check), { type: resource.type, id: resource.id, appId, ...place })
  }
  return { resources, tenants }
}

function idIn(kind: "ten", text: string): TenantId | null
function idIn(kind: "ctx", text: string): ContextId | null
function idIn(kind: "ten" | "ctx", text: string): TenantId | ContextId | null {
  return parseId(kind, text) ?? null
}

function requirementIn({ target }: ExplainAccessRequest, requirementOf: RequirementOf): Requirement {
  if (target.case === "method") return requirementOf(target.value) ?? invalid("method", "no method of this server")
  if (target.case !== "requirement") return invalid("requirement", "is required")
  try {
    return parseRequirement(target.value)
  } catch (error) {
    return invalid("requirement", error instanceof Error ? error.message : "cannot be checked")
  }
}

function invalid(field: string, rule: string): never {
  throw new Refused("INVALID_FIELD", { message: `${field}: ${rule}`, metadata: { field } })
}

/** @param unverified Why the token does not verify. */
function shape(
  { decision, caller, found, passed, requirement }: Explanation,
  unverified?: Reason,
): MessageInitShape<typeof ExplainAccessResponseSchema> {
  return {
    allowed: decision.allow,
    step: decision.allow ? 9 : decision.step,
    reason: decision.allow ? WireReason.REASON_UNSPECIFIED : WireReason[decision.trueReason],
    caller: unverified === undefined ? caller : "",
    found: [...found],
    passed: passed.map((step) => ({ step: step.step, found: [...step.found] })),
    ...(requirement !== undefined && { requirement: checkShape(requirement) }),
  }
}

const checkShape = (part: Explained): MessageInitShape<typeof ExplainedCheckSchema> => ({
  asked: part.asked,
  holds: part.holds,
  failedStep: part.failed?.step ?? 0,
  reason: part.failed === undefined ? WireReason.REASON_UNSPECIFIED : wireReason(part.failed.reason),
  found: [...part.found],
  isDecisive: part.isDecisive,
  of: part.of.map(checkShape),
})

const wireReason = (name: string): WireReason =>
  Object.entries(WireReason).find(([one]) => one === name)?.[1] ?? WireReason.REASON_UNSPECIFIED
