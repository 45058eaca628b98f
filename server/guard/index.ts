// @signet/guard: authentication and authorization. Adapters for frameworks are separate entry points, such as
// @signet/guard/fastify.
export type { AuthDecision, Deny } from "@signet/kernel/authz/authorize"
export { type AuthContext, type Grants, type NotLoaded, notLoaded } from "@signet/kernel/authz/context"
export { type Explained, type Explanation, explain } from "@signet/kernel/authz/explain"
export type { ResourceRef } from "@signet/kernel/authz/grants"
export type { Liveness } from "@signet/kernel/authz/liveness"
export type { Freshness, Requirement } from "@signet/kernel/authz/requirement"
export { type Reason, Refused } from "@signet/kernel/errors"
export type { Clock } from "@signet/kernel/ports"
export { anyApp, createGuard, type Guard, type GuardOptions } from "./guard.ts"
export { createIntrospection, type Introspect, type IntrospectionOptions } from "./introspection.ts"
export {
  createKeySet,
  createLocalKeySet,
  type KeySet,
  type KeySetCache,
  type KeySetLimits,
  type KeySetOptions,
} from "./key-set.ts"
export { createKeyValueCache, createKeyValueSnapshots, type KeyValueStore } from "./kv-cache.ts"
export type { FindPermissions } from "./permissions/permissions.ts"
export { createPermissionSnapshots, type PermissionSnapshotsOptions } from "./permissions/snapshots.ts"
export { type GuardProblem, problemHeaders, problemOf } from "./problem.ts"
export type { FindResource } from "./request-values.ts"
export { requirementOf } from "./requirement.ts"
export {
  createRevocationFeed,
  type FeedProblem,
  type RevocationFeed,
  type RevocationFeedOptions,
} from "./revocation/feed.ts"
export { createServiceToken, type ServiceToken, type ServiceTokenOptions } from "./service-token.ts"
export type { TargetOptions } from "./target.ts"
export { type TokenCrypto, webTokenCrypto } from "./token-crypto.ts"
