/** A file of the release, as those who install it get it. */
export interface ReleaseFile {
  readonly name: string;
  readonly url: string;
  readonly sha256: string;
  readonly path: string;
}

/** What all manifests say of a release. */
export interface Release {
  /** Of the npm package. */
  readonly name: string;
  readonly product: string;
  readonly appId: string;
  readonly version: string;
  /** At most 80 characters, without an article: https://docs.brew.sh/Cask-Cookbook */
  readonly summary: string;
  readonly description: string;
  readonly license: string;
  readonly author: string;
  /** The repository's page. */
  readonly homepage: string;
}

/** Texts by the path that each is written to, below the folder of the manifests. */
export type Manifests = Readonly<Record<string, string>>;
