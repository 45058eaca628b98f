import { presetValues } from "@signet/kernel/administration/preset"
import { invalid } from "@signet/kernel/administration/problem"
import { type ClientValues, completed } from "@signet/kernel/administration/provider-client"
import type { ProviderClient } from "@signet/proto/auth/v1/provider_clients"
import { refusalOf } from "../outcome.ts"
import { givenValues } from "./provider-client-shape.ts"

/** The fields that a preset fills in, by contract name. A client with a preset sets none of them. */
const filledIn = [
  ["issuers", "issuers"],
  ["canonical_issuer", "canonicalIssuer"],
  ["jwks_uri", "jwksUri"],
  ["authorization_endpoint", "authorizationEndpoint"],
  ["token_endpoint", "tokenEndpoint"],
] as const

/**
 * The values of a new client, with those that follow from them and from its preset.
 *
 * @throws Refused INVALID_FIELD for an unknown preset, and for a client that sets a field of its preset.
 */
export function newClientValues(of: ProviderClient): ClientValues {
  const values = givenValues(of)
  const { preset, presetTenant } = of
  if (preset === "") {
    if (presetTenant !== "") throw refusalOf(invalid("provider_client.preset_tenant", "it needs a preset beside it"))
    return completed(values)
  }
  if (values.provider !== "IDP_A") throw refusalOf(invalid("provider_client.preset", "only IDP_A has presets"))
  const named = filledIn.find(([, name]) => of[name].length > 0)
  if (named !== undefined)
    throw refusalOf(invalid(`provider_client.${named[0]}`, "the preset fills it in: leave it out"))
  const filled = presetValues(preset, presetTenant)
  if (filled.is === "refuse") throw refusalOf(filled.problem)
  const displayName = values.displayName || filled.values.displayName
  return completed({ ...values, ...filled.values, displayName, requireNonce: true })
}
