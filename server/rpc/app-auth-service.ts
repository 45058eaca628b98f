import type { ServiceImpl } from "@connectrpc/connect"
import type { AppAuthService } from "@signet/proto/auth/v1/app_auth_service"
import { apps } from "./admin/apps.ts"
import { contexts } from "./admin/contexts.ts"
import { grants } from "./admin/grants.ts"
import { invitations } from "./admin/invitations.ts"
import { memberships } from "./admin/memberships.ts"
import { permissions } from "./admin/permissions.ts"
import { principals } from "./admin/principals.ts"
import { providerClients } from "./admin/provider-clients.ts"
import { roles } from "./admin/roles.ts"
import { tenants } from "./admin/tenants.ts"
import { users } from "./admin/users.ts"
import type { Deps } from "./deps.ts"

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
    ...users(deps),
  }
}
