// Finds people by id or by their verified address.
import { AppAuthService } from "@signet/proto/auth/v1/app_auth_service"
import { callAs } from "./api.ts"
import type { Cli } from "./cli.ts"
import { CommandError, exitCodes } from "./failure.ts"

/**
 * Runs work with a principal's id. An address is searched within the caller's scope.
 *
 * @param text `prn_…`, or an address, which requires auth.identities.read.
 * @returns The exit code.
 */
export async function withPrincipal(
  cli: Cli,
  text: string,
  work: (principalId: string) => Promise<number>,
): Promise<number> {
  if (!text.includes("@")) return work(text)
  let found: readonly string[] = []
  const by = { case: "email", value: text } as const
  const code = await callAs(cli, AppAuthService.method.findUsers, { by }, (_, { users }) => {
    found = users.flatMap(({ principal }) => (principal === undefined ? [] : [principal.id]))
    return 0
  })
  if (code !== 0) return code
  const [only, ...others] = found
  if (only !== undefined && others.length === 0) return work(only)
  if (only === undefined) {
    throw new CommandError(
      "NOT_FOUND",
      exitCodes.notFound,
      `no person in your scope has the verified address ${text}`,
      {
        hint: "Use the principal id, or invite the person: signet invite create",
      },
    )
  }
  throw new CommandError("AMBIGUOUS", exitCodes.conflict, `several people have the address ${text}`, {
    hint: `Use a principal id: signet user find ${text}`,
  })
}
