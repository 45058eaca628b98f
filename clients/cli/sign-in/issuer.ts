import { createClient } from "@connectrpc/connect"
import { TokenService } from "@signet/proto/auth/v1/token_service"
import { publicTransport } from "../account.ts"
import type { Cli, NamedProfile } from "../cli.ts"
import { CommandError, exitCodes } from "../failure.ts"

/** Tokens of this server name itself as their issuer (RFC 8414 section 3.3): behind another name nothing would verify. */
export async function checkIssuer(cli: Cli, { server }: NamedProfile): Promise<void> {
  const client = createClient(TokenService, publicTransport({ server }))
  const asked = client.getAuthorizationServerMetadata({}, { timeoutMs: 10_000 })
  const { issuer } = await cli.terminal.during(`asking ${server} …`, asked)
  if (issuer === server) return
  throw new CommandError("ISSUER_MISMATCH", exitCodes.usage, `${server} calls itself ${issuer}`, {
    hint: `Say its own name: signet login --server ${issuer}`,
  })
}
