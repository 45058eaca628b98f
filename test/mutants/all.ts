import { administrationMutants } from "./administration.ts"
import { attachmentMutants } from "./attachments.ts"
import { auditMutants } from "./audit.ts"
import { authorityMutants } from "./authority.ts"
import { authorizationMutants } from "./authorization.ts"
import { blockedUserMutants } from "./blocked-users.ts"
import { canonicalMutants } from "./canonical.ts"
import { commandMutants } from "./command.ts"
import { conversationMutants } from "./conversations.ts"
import { credentialCheckMutants } from "./credential-checks.ts"
import { deviceMutants } from "./devices.ts"
import { edgeMutants } from "./edge.ts"
import { engineMutants } from "./engine.ts"
import { framingMutants } from "./framing.ts"
import { guardCheckMutants } from "./guard-checks.ts"
import { identityClientMutants } from "./identity-client.ts"
import { idpBMutants } from "./idp-b.ts"
import { idpCMutants } from "./idp-c.ts"
import { localStoreMutants } from "./local-stores.ts"
import { mailboxMutants } from "./mailboxes.ts"
import { messagingStoreMutants } from "./messaging-store.ts"
import { messengerMutants } from "./messenger.ts"
import { messengerBackupMutants } from "./messenger-backups.ts"
import { messengerCheckMutants } from "./messenger-checks.ts"
import { messengerFileMutants } from "./messenger-files.ts"
import { messengerHistoryMutants } from "./messenger-history.ts"
import { resetMutants } from "./messenger-resets.ts"
import { messengerSendingMutants } from "./messenger-sending.ts"
import { messengerStoredMutants } from "./messenger-stored.ts"
import { movingMutants } from "./moving.ts"
import type { Mutant } from "./mutant.ts"
import { objectMutants } from "./objects.ts"
import { permissionMutants } from "./permissions.ts"
import { pushMutants } from "./push-hints.ts"
import { resubmittingMutants } from "./resubmitting.ts"
import { revocationMutants } from "./revocations.ts"
import { signInMutants } from "./sign-in.ts"
import { simulatedTabMutants } from "./simulated-tabs.ts"
import { simulationMutants } from "./simulation.ts"
import { tabMutants } from "./tabs.ts"
import { tokenEndpointMutants } from "./token-endpoint.ts"

export const mutants: readonly Mutant[] = [
  ...engineMutants,
  ...canonicalMutants,
  ...framingMutants,
  ...idpBMutants,
  ...idpCMutants,
  ...signInMutants,
  ...revocationMutants,
  ...deviceMutants,
  ...conversationMutants,
  ...messagingStoreMutants,
  ...blockedUserMutants,
  ...messengerMutants,
  ...messengerSendingMutants,
  ...messengerStoredMutants,
  ...resetMutants,
  ...pushMutants,
  ...resubmittingMutants,
  ...identityClientMutants,
  ...commandMutants,
  ...mailboxMutants,
  ...administrationMutants,
  ...attachmentMutants,
  ...auditMutants,
  ...authorizationMutants,
  ...permissionMutants,
  ...tabMutants,
  ...messengerFileMutants,
  ...messengerBackupMutants,
  ...messengerHistoryMutants,
  ...authorityMutants,
  ...objectMutants,
  ...simulationMutants,
  ...simulatedTabMutants,
  ...localStoreMutants,
  ...movingMutants,
  ...edgeMutants,
  ...tokenEndpointMutants,
  ...credentialCheckMutants,
  ...guardCheckMutants,
  ...messengerCheckMutants,
]
