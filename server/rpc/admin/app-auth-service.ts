import type { ServiceImpl } from "@connectrpc/connect"
import type { AppAuthService } from "@signet/proto/auth/v1/app_auth_service"
import type { Deps } from "../deps.ts"
import { apps } from "./apps.ts"
import { contexts } from "./contexts.ts"
import { grants } from "./grants.ts"
import { invitations } from "./invitations.ts"
import { limits } from "./limits.ts"
import { memberships } from "./memberships.ts"
import { permissions } from "./permissions.ts"
import { principalSessions } from "./principal-sessions.ts"
import { principals } from "./principals.ts"
import { providerClients } from "./provider-client/provider-clients.ts"
import { roles } from "./roles.ts"
import { tenants } from "./tenants.ts"
import { users } from "./users.ts"

export function appAuthService(deps: Deps): ServiceImpl<typeof AppAuthService> {
  return {
    ...apps(deps),
    ...providerClients(deps),
    ...tenants(deps),
    ...contexts(deps),
    ...memberships(deps),
    ...invitations(deps),
    ...permissions(deps),
    ...roles(deps),
    ...grants(deps),
    ...principals(deps),
    ...principalSessions(deps),
    ...limits(deps),
    ...users(deps),
  }
}
