// All generated files of this folder.
import { vectorText } from "./build.ts"
import { feedVectors } from "./feed.ts"
import { keySetVectors } from "./key-sets.ts"
import { snapshotVectors } from "./snapshots.ts"
import { jsonLines } from "./text.ts"
import { tokenVectors } from "./tokens.ts"

/** Name and text of each file. */
export async function vectorFiles(): Promise<readonly (readonly [name: string, text: string])[]> {
  return [
    ["decisions.json", vectorText()],
    ["tokens.json", jsonLines(await tokenVectors(), ["cases", "sequences"])],
    ["key-sets.json", jsonLines(keySetVectors(), ["documents", "sequences"])],
    ["feed.json", jsonLines(feedVectors(), ["tokens", "sequences"])],
    ["snapshots.json", jsonLines(snapshotVectors(), ["tokens", "resources", "sequences"])],
  ]
}
