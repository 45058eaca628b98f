// Storage of attachments, according to SIGNET_BLOBS.
import { join } from "node:path"
import { lifetimeMs } from "@signet/kernel/messaging/limits"
import type { BlobStore } from "@signet/kernel/messaging/ports"
import type { Clock } from "@signet/kernel/ports"
import { openFsBlobs } from "../blobs/fs.ts"
import { createS3Blobs } from "../blobs/s3.ts"

export type BlobSettings =
  | { readonly is: "folder"; readonly folder: string }
  | {
      readonly is: "bucket"
      readonly endpoint: string
      readonly bucket: string
      readonly region: string
      readonly keyId: string
      readonly secret: string
    }

/** Shorter than the limit of a call, so that the caller gets an answer. */
const timeoutMs = 15_000

/** @throws Refused UNAVAILABLE, STORAGE_FULL if the folder is not usable. */
export function openBlobs(settings: BlobSettings, clock: Clock): Promise<BlobStore> | BlobStore {
  if (settings.is === "folder") return openFsBlobs(settings.folder, { nowMs: clock.nowMs() })
  return createS3Blobs({
    ...settings,
    presignedSeconds: lifetimeMs.presigned / 1_000,
    timeoutMs,
    nowMs: clock.nowMs,
  })
}

/**
 * Parses a folder, or `s3://BUCKET?endpoint=https://HOST&region=REGION`.
 *
 * @param problems Receives a sentence for each error. If there is any, do not use the result.
 */
export function parseBlobSettings(
  given: {
    place: string | undefined
    keyId: string | undefined
    secret: string | undefined
    dataFolder: string
    isProduction: boolean
  },
  problems: string[],
): BlobSettings {
  const { place, keyId = "", secret = "" } = given
  const fallback: BlobSettings = { is: "folder", folder: place ?? join(given.dataFolder, "blobs") }
  if (place === undefined || !/^[a-z0-9]+:\/\//i.test(place)) {
    if (keyId !== "" || secret !== "") problems.push("SIGNET_BLOBS_KEY_ID and SIGNET_BLOBS_SECRET need a bucket.")
    return fallback
  }
  const url = URL.canParse(place) ? new URL(place) : undefined
  const bucket = url?.hostname ?? ""
  const isBare = url?.username === "" && url.password === "" && url.port === "" && url.hash === ""
  if (url?.protocol !== "s3:" || !isBare || !["", "/"].includes(url.pathname) || !bucketPattern.test(bucket)) {
    problems.push("SIGNET_BLOBS must be a folder or s3://BUCKET?endpoint=https://HOST&region=REGION.")
    return fallback
  }
  const unknown = [...url.searchParams.keys()].filter((name) => name !== "endpoint" && name !== "region")
  if (unknown.length > 0) problems.push("SIGNET_BLOBS accepts only the parameters endpoint and region.")
  const region = url.searchParams.get("region") ?? "us-east-1"
  if (!/^[a-z0-9-]{1,64}$/.test(region)) problems.push("SIGNET_BLOBS has an invalid region.")
  const endpoint = url.searchParams.get("endpoint") ?? `https://s3.${region}.amazonaws.com`
  if (!isEndpoint(endpoint, given.isProduction)) {
    problems.push("The endpoint in SIGNET_BLOBS must be an origin: https, host and port.")
  }
  if (keyId === "" || secret === "") {
    problems.push("A bucket in SIGNET_BLOBS requires SIGNET_BLOBS_KEY_ID and SIGNET_BLOBS_SECRET.")
  }
  return { is: "bucket", endpoint, bucket, region, keyId, secret }
}

const bucketPattern = /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/

function isEndpoint(text: string, isProduction: boolean): boolean {
  if (!URL.canParse(text) || new URL(text).origin !== text) return false
  const { protocol } = new URL(text)
  return protocol === "https:" || (protocol === "http:" && !isProduction)
}
