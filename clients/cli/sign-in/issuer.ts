import { createClient } from "@connectrpc/connect"
import { TokenService } from "@signet/proto/auth/v1/token_service"
import { publicTransport } from "../account.ts"
import type { Cli, NamedProfile } from "../cli.ts"
import { CommandError, exitCodes } from "../failure.ts"
import { isLoopbackHost, issuerOf } from "../profiles.ts"

/** Requires that the server is its own issuer (RFC 8414 section 3.3): otherwise no token would verify. */
export async function checkIssuer(cli: Cli, profile: NamedProfile): Promise<void> {
  const { server } = profile
  const client = createClient(TokenService, publicTransport({ server }))
  const asked = client.getAuthorizationServerMetadata({}, { timeoutMs: 10_000 })
  const { issuer } = await cli.terminal.during(`asking ${server} …`, asked)
  if (issuer === issuerOf(profile)) return
  const isLocal = isLoopbackHost(new URL(server).hostname)
  throw new CommandError("ISSUER_MISMATCH", exitCodes.usage, `the issuer of ${server} is ${issuer}`, {
    hint: isLocal
      ? `If you reach the right server on this machine or through a tunnel, use --server ${server} --server-issuer ${issuer}`
      : `Use its issuer: signet login --server ${issuer}`,
  })
}
