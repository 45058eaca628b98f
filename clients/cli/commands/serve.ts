import { Command } from "commander"
import { type Cli, examples } from "../cli.ts"
import type { Run } from "../command.ts"
import { runServerProgram } from "../server-program.ts"

interface ServeOptions {
  host?: string
  port?: string
  data?: string
  logLevel?: string
}

export function serveCommand(cli: Cli, run: Run): Command {
  return examples(
    new Command("serve")
      .description("Run the server, with the settings of the environment (docs/reference/operations.md).")
      .option("--host <address>", "Address to listen on (HOST).")
      .option("--port <number>", "Port to listen on (PORT); 0 selects a free port.")
      .option("--data <folder>", "Data folder of the development profile (SIGNET_DATA).")
      .option("--log-level <level>", "LOG_LEVEL.")
      .action(
        run(async ({ host, port, data, logLevel }: ServeOptions) => {
          const settings = { HOST: host, PORT: port, SIGNET_DATA: data, LOG_LEVEL: logLevel }
          return (await runServerProgram(cli, "serve", { args: [], settings })).code
        }),
      ),
    ["signet serve", "signet serve --port 9000 --data /var/lib/signet"],
  )
}

export function migrateCommand(cli: Cli, run: Run): Command {
  return examples(
    new Command("migrate")
      .description("Migrate the database to this version, on the server's machine. Repeating it succeeds.")
      .option("--data <folder>", "Data folder of the development profile (SIGNET_DATA).")
      .action(
        run(async ({ data }: { data?: string }) => {
          const args = ["migrate", ...(cli.options.json ? ["--json"] : [])]
          const running = runServerProgram(cli, "admin", { args, settings: { SIGNET_DATA: data }, isHeard: true })
          const { code, output } = await cli.terminal.during("migrating …", running)
          if (output !== "") cli.terminal.out(output.trimEnd())
          return code
        }),
      ),
    ["signet migrate", "DATABASE_URL=postgres://localhost/signet signet migrate"],
  )
}
