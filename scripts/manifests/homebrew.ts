import type { Manifests, Release, ReleaseFile } from './release.ts';

const className = (name: string) =>
  name.replace(/(?:^|-)(\w)/g, (_, letter: string) => letter.toUpperCase());

/** The gateway: https://docs.brew.sh/Node-for-Formula-Authors */
export function formula(release: Release, tarball: ReleaseFile): Manifests {
  const { name, summary, homepage, license } = release;
  const text = `class ${className(name)} < Formula
  desc "${summary}"
  homepage "${homepage}"
  url "${tarball.url}"
  sha256 "${tarball.sha256}"
  license "${license}"

  depends_on "node"

  def install
    system "npm", "install", *std_npm_args
    bin.install_symlink libexec.glob("bin/*")
  end

  service do
    run [opt_bin/"switchyard", "start"]
    keep_alive true
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/switchyard --version")
  end
end
`;
  return { [`homebrew/Formula/${name}.rb`]: text };
}

/** The desktop app: https://docs.brew.sh/Cask-Cookbook */
export function cask(release: Release, image: ReleaseFile): Manifests {
  const { product, version, summary, homepage, appId } = release;
  const token = product.toLowerCase();
  const arch = /-(arm64|x64)\.dmg$/.exec(image.name)?.[1];
  if (arch === undefined) throw new Error(`${image.name} does not name its architecture`);
  const text = `cask "${token}" do
  version "${version}"
  sha256 "${image.sha256}"

  url "${image.url.replaceAll(version, '#{version}')}"
  name "${product}"
  desc "${summary}"
  homepage "${homepage}"

  depends_on arch: :${arch === 'x64' ? 'x86_64' : arch}

  app "${product}.app"

  uninstall quit: "${appId}"

  zap trash: [
    "~/Library/Application Support/${product}",
    "~/Library/Preferences/${appId}.plist",
  ]
end
`;
  return { [`homebrew/Casks/${token}.rb`]: text };
}
