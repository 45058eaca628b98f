// `npm run admin -- messaging …` in a separate process, which may be killed at a line of its output.
import { spawn } from "node:child_process"
import { once } from "node:events"
import { join } from "node:path"

const main = join(import.meta.dirname, "../../../server/node/admin/main.ts")

interface MoveCommand {
  /** URL of the auth service, which issues tokens. */
  readonly authUrl: string
  readonly folder: string
  readonly appId: string
  readonly clientId: string
  readonly secretFile: string
  readonly audience: string
  readonly from: string
  readonly to: string
}

/**
 * @param killAt Kills the process at the first line of output that begins with this text.
 * @returns Its exit code, null if it was killed; and its standard error.
 */
export async function messagingCommand(
  name: "move" | "abort",
  of: MoveCommand,
  killAt?: string,
): Promise<{ readonly code: number | null; readonly said: string }> {
  const { PATH = "", HOME = "" } = process.env
  const settings = { SIGNET_PROFILE: "development", SIGNET_ISSUER: of.authUrl, SIGNET_DATA: of.folder }
  const account = ["--client", of.clientId, "--secret-file", of.secretFile, "--audience", of.audience]
  const args = [main, "messaging", name, "--from", of.from, "--to", of.to, "--app", of.appId, ...account]
  const child = spawn(process.execPath, args, { env: { PATH, HOME, ...settings }, stdio: ["ignore", "ignore", "pipe"] })
  let said = ""
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    said += text
    if (killAt !== undefined && said.split("\n").some((line) => line.startsWith(killAt))) child.kill("SIGKILL")
  })
  await once(child, "close")
  return { code: child.exitCode, said }
}
