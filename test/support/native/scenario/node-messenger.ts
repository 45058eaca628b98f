// The steps over the messenger of Node, for its platform and for the other users.
import { openAsBlob } from "node:fs"
import { writeFile } from "node:fs/promises"
import * as backup from "../../../../clients/core/messaging/backup/index.ts"
import * as history from "../../../../clients/core/messaging/history/index.ts"
import type { Messenger } from "../../../../clients/core/messaging/messenger.ts"
import { scenarioOverMessenger } from "./over-messenger.ts"

export const scenarioInNode = (messenger: Messenger) =>
  scenarioOverMessenger(messenger, {
    files: { open: (path) => openAsBlob(path), save: writeFile },
    ...{ backup, history },
  })
