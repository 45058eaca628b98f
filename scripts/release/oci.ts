// Writes images of the OCI image specification 1.1 as a layout: blobs named after their SHA-256, and an index.
import { createHash } from "node:crypto"
import { promisify } from "node:util"
import { gzip } from "node:zlib"
import { type Entry, writeTar } from "./tar.ts"

export interface Layer {
  /** What the layer holds, for the history. */
  readonly title: string
  readonly entries: readonly Entry[]
}

export interface Image {
  readonly platform: { readonly architecture: "amd64" | "arm64"; readonly os: "linux" }
  readonly layers: readonly Layer[]
  /** `config` of the image configuration: user, entry point, environment. */
  readonly config: Readonly<Record<string, unknown>>
}

export interface Labels {
  readonly name: string
  readonly version: string
  /** Unix time of the image and all of its files. */
  readonly seconds: number
  readonly annotations: Readonly<Record<string, string>>
}

interface Descriptor {
  readonly mediaType: string
  readonly digest: string
  readonly size: number
}

/** A file of a layout: its path and content. */
export type LayoutFile = Entry & { readonly content: Uint8Array }

const types = {
  index: "application/vnd.oci.image.index.v1+json",
  manifest: "application/vnd.oci.image.manifest.v1+json",
  config: "application/vnd.oci.image.config.v1+json",
  layer: "application/vnd.oci.image.layer.v1.tar+gzip",
}

const sha256 = (content: Uint8Array): string => createHash("sha256").update(content).digest("hex")

/** @returns The files of the layout, each blob once. */
export async function writeLayout(images: readonly Image[], labels: Labels): Promise<readonly LayoutFile[]> {
  const blobs = new Map<string, Uint8Array>()
  const add = (mediaType: string, content: Uint8Array): Descriptor => {
    const hash = sha256(content)
    blobs.set(hash, content)
    return { mediaType, digest: `sha256:${hash}`, size: content.length }
  }
  const packed = new Map<Layer, Promise<{ descriptor: Descriptor; diffId: string }>>()
  const pack = async (layer: Layer) => {
    const tar = writeTar(layer.entries, labels.seconds)
    // Asynchronous: the layers are compressed in parallel.
    const content = await promisify(gzip)(tar, { level: 6 })
    return { descriptor: add(types.layer, content), diffId: `sha256:${sha256(tar)}` }
  }
  const manifests = await Promise.all(
    images.map(async ({ platform, layers, config }) => {
      for (const layer of layers) if (!packed.has(layer)) packed.set(layer, pack(layer))
      const done = await Promise.all(layers.map((layer) => packed.get(layer) ?? pack(layer)))
      const created = new Date(labels.seconds * 1_000).toISOString()
      const configuration = {
        created,
        ...platform,
        config: { ...config, Labels: labels.annotations },
        rootfs: { type: "layers", diff_ids: done.map(({ diffId }) => diffId) },
        history: layers.map(({ title }) => ({ created, created_by: title })),
      }
      const manifest = {
        schemaVersion: 2,
        mediaType: types.manifest,
        config: add(types.config, json(configuration)),
        layers: done.map(({ descriptor }) => descriptor),
        annotations: labels.annotations,
      }
      return { ...add(types.manifest, json(manifest)), platform }
    }),
  )
  const index = { schemaVersion: 2, mediaType: types.index, manifests, annotations: labels.annotations }
  const named = {
    ...add(types.index, json(index)),
    annotations: {
      "org.opencontainers.image.ref.name": labels.version,
      "io.containerd.image.name": `docker.io/library/${labels.name}:${labels.version}`,
    },
  }
  return [
    { path: "oci-layout", content: json({ imageLayoutVersion: "1.0.0" }) },
    { path: "index.json", content: json({ schemaVersion: 2, mediaType: types.index, manifests: [named] }) },
    ...[...blobs]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([hash, content]) => ({ path: `blobs/sha256/${hash}`, content })),
  ]
}

const json = (value: object): Uint8Array => Buffer.from(JSON.stringify(value))
