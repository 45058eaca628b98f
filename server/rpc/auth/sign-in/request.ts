import { type AppId, type ContextId, parseId, type TenantId } from "@signet/kernel/ids"
import type { Device, Membership, Platform, Provider } from "@signet/kernel/records"
import type {
  ConfirmMagicLinkRequest,
  EmailPasswordLoginRequest,
  ExternalLoginRequest,
} from "@signet/proto/auth/v1/auth_service"
import { platformOf } from "../../parse.ts"
import type { Proof } from "./proof.ts"

/** The client of a provider that a sign-in goes by. */
export interface Way {
  appId: AppId
  provider: Provider
  platform: Platform
  /** Empty when the request names none. */
  connection: string
}

export interface SignInRequest extends Way {
  proof: Proof
  audiences: readonly string[]
  tenantId: TenantId | null
  contextId: ContextId | null
  device: Device
  cookieMode: boolean
  /** What the client says of the person: kept where a membership is made, and nowhere else. */
  hints: Membership["profile"]
  /** Empty for none. */
  invitationCode: string
  cancelDeletion: boolean
}

/** What every way of signing in is told alike. */
export function commonOf(
  request: ExternalLoginRequest | EmailPasswordLoginRequest | ConfirmMagicLinkRequest,
): Omit<SignInRequest, "appId" | "provider" | "connection" | "proof" | "hints"> {
  const { deviceId = "", label = "", os = "", appVersion = "" } = request.device ?? {}
  return {
    platform: platformOf(request.platform),
    audiences: request.audiences,
    tenantId: parseId("ten", request.tenantId) ?? null,
    contextId: parseId("ctx", request.contextId) ?? null,
    device: { deviceId, label, os, appVersion },
    cookieMode: request.cookieMode,
    invitationCode: request.invitationCode,
    cancelDeletion: request.cancelDeletion,
  }
}
