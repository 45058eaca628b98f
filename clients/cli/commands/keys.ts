import { Argument, Command } from "commander"
import { type Cli, examples, profileOf, show } from "../cli.ts"
import type { Run } from "../command.ts"
import { CommandError, exitCodes, usage } from "../failure.ts"
import { runServerProgram } from "../server-program.ts"
import { formatTable } from "../table.ts"

const tokenPurposes = ["ACCESS", "STATEMENT", "CONTEXT"]
const issuerPurposes = ["CREDENTIAL", "PROOF", "LIST", "RECEIPT"]

export function keysCommand(cli: Cli, run: Run): Command {
  const json = () => (cli.options.json ? ["--json"] : [])
  const admin = async (args: readonly string[], data?: string) =>
    (await runServerProgram(cli, "admin", { args, settings: { SIGNET_DATA: data } })).code
  const list = examples(
    new Command("list")
      .alias("ls")
      .description("List token signing keys and their states, on the server's machine.")
      .option(
        "--published",
        "List the keys that the profile's server publishes instead; works anywhere, without a sign-in.",
      )
      .option("--data <folder>", "Data folder of the development profile (SIGNET_DATA).")
      .action(
        run(({ published, data }: { published?: boolean; data?: string }) =>
          published ? listPublished(cli) : admin(["keys", "tokens", "list", ...json()], data),
        ),
      ),
    ["signet keys list", "signet keys list --published"],
  )
  const rotate = examples(
    new Command("rotate")
      .description("Activate a new signing key, on the server's machine. Running servers follow within seconds.")
      .addArgument(
        new Argument(
          "[purpose]",
          "Purpose of the key; ACCESS signs access tokens. The last four belong to messaging, and sign once a signed key set names them.",
        )
          .choices([...tokenPurposes, ...issuerPurposes])
          .default("ACCESS"),
      )
      .option(
        "--early",
        "Accept a key published less than 24 hours ago; verifiers fetch an unknown key when they need it.",
      )
      .option("--data <folder>", "Data folder of the development profile (SIGNET_DATA).")
      .action(
        run((purpose: string, { early = false, data }: { early?: boolean; data?: string }) => {
          const isToken = tokenPurposes.includes(purpose)
          if (early && !isToken) throw usage("--early is only for ACCESS, STATEMENT and CONTEXT")
          const args = ["keys", isToken ? "tokens" : "issuer", "rotate", purpose]
          return admin([...args, ...(early ? ["--early"] : []), ...json()], data)
        }),
      ),
    ["signet keys rotate", "signet keys rotate ACCESS --early", "signet keys rotate PROOF"],
  )
  const compromise = examples(
    new Command("compromise")
      .description("Revoke a token signing key at once. Everything that it signed becomes invalid.")
      // A key id may start with a dash.
      .allowUnknownOption()
      .argument("<kid>", "Key id (kid), as in tokens and /.well-known/jwks.json.")
      .option("--data <folder>", "Data folder of the development profile (SIGNET_DATA).")
      .action(
        run((kid: string, { data }: { data?: string }) =>
          admin(["keys", "tokens", "compromise", kid, ...json()], data),
        ),
      ),
    ["signet keys compromise NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs"],
  )
  return new Command("keys")
    .description("The signing keys of the server.")
    .addCommand(list)
    .addCommand(rotate)
    .addCommand(compromise)
}

/** The JWK Set that verifies access tokens. */
async function listPublished(cli: Cli): Promise<number> {
  const { server } = profileOf(cli)
  const answer = await cli
    .fetch(`${server}/.well-known/jwks.json`, { signal: AbortSignal.timeout(20_000) })
    .catch((cause: unknown) => {
      throw new CommandError("UNREACHABLE", exitCodes.unavailable, `${server} does not respond`, { cause })
    })
  if (!answer.ok)
    throw new CommandError("FAULT", exitCodes.fault, `${server} responded with status ${answer.status} for its keys`)
  const keys = keysIn(await answer.json())
  show(cli, keys, () =>
    formatTable(
      cli.terminal,
      ["KID", "ALG", "USE"],
      keys.map(({ kid, alg, use }) => [kid, alg, use]),
    ),
  )
  return 0
}

function keysIn(json: unknown): readonly { kid: string; alg: string; use: string }[] {
  const keys = typeof json === "object" && json !== null && "keys" in json ? json.keys : undefined
  if (!Array.isArray(keys)) throw new CommandError("FAULT", exitCodes.fault, "the server's answer is no JWK set")
  return keys.map((key: unknown) => {
    const { kid, alg, use }: Record<string, unknown> = { ...Object(key) }
    return { kid: String(kid), alg: String(alg), use: String(use) }
  })
}
