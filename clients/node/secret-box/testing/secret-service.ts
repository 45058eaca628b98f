// A session bus with gnome-keyring in a home folder of its own: the real Secret Service of Linux.
import { type ChildProcess, execFileSync, spawn } from "node:child_process"
import { once } from "node:events"
import { accessSync, constants, mkdirSync } from "node:fs"
import { delimiter, join } from "node:path"

const programs = ["dbus-daemon", "gnome-keyring-daemon"]

const isThere = (program: string): boolean =>
  (process.env.PATH ?? "").split(delimiter).some((folder) => {
    try {
      accessSync(join(folder, program), constants.X_OK)
      return true
    } catch {
      return false
    }
  })

/** True if the packages dbus and gnome-keyring are installed. */
export const hasSecretService = process.platform === "linux" && programs.every(isThere)

export interface SecretService {
  readonly environment: NodeJS.ProcessEnv
  stop(): Promise<void>
}

/**
 * @param home The folder of the keyring; the same folder again is a restart.
 * @param password Unlocks the keyring, and creates it at the first start; undefined leaves it locked.
 */
export async function startSecretService(home: string, password: string | undefined): Promise<SecretService> {
  mkdirSync(join(home, "run"), { recursive: true, mode: 0o700 })
  const bare = {
    PATH: process.env.PATH,
    HOME: home,
    XDG_DATA_HOME: join(home, "data"),
    XDG_RUNTIME_DIR: join(home, "run"),
    // No prompt on a screen.
    DISPLAY: "",
  }
  const bus = spawn("dbus-daemon", ["--session", "--nofork", "--print-address"], {
    env: bare,
    stdio: ["ignore", "pipe", "ignore"],
  })
  const environment = { ...bare, DBUS_SESSION_BUS_ADDRESS: await firstLine(bus) }
  const how = password === undefined ? ["--start"] : ["--unlock"]
  const keyring = spawn("gnome-keyring-daemon", ["--foreground", "--components=secrets", ...how], {
    env: environment,
    stdio: ["pipe", "pipe", "ignore"],
  })
  keyring.stdin?.end(password ?? "")
  await firstLine(keyring)
  waitForName(environment)
  return {
    environment,
    async stop() {
      for (const child of [keyring, bus]) {
        const ended = child.exitCode === null && child.signalCode === null ? once(child, "exit") : undefined
        child.kill()
        await ended
      }
    },
  }
}

async function firstLine(child: ChildProcess): Promise<string> {
  let output = ""
  for await (const chunk of child.stdout ?? []) {
    output += String(chunk)
    if (output.includes("\n")) break
  }
  return output.split("\n")[0] ?? ""
}

/** Waits until the service has its name on the bus. */
function waitForName(env: NodeJS.ProcessEnv): void {
  const ask = ["--session", "--print-reply", "--dest=org.freedesktop.DBus", "/", "org.freedesktop.DBus.GetNameOwner"]
  for (let attempt = 0; attempt < 100; attempt++) {
    try {
      execFileSync("dbus-send", [...ask, "string:org.freedesktop.secrets"], { env, stdio: "ignore" })
      return
    } catch {
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20)
    }
  }
  throw new Error("gnome-keyring did not start")
}
