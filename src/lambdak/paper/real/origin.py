"""Where the rows of a study come from: a file, its cache, and the protocol that prepares them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lambdak.paper.data.criteo import raw_criteo
from lambdak.paper.data.higgs import higgs
from lambdak.paper.data.ids import KINDS, criteo
from lambdak.paper.data.miniature import write_miniature
from lambdak.paper.data.rows import Data
from lambdak.paper.protocols import REAL_CONVENTIONS, Source, study_name

_FILES = {"higgs": "HIGGS.csv[.gz|.zst]", "criteo": "train.txt[.gz|.zst]"}


@dataclass(frozen=True)
class Origin:
    """A data set, its file, the folder of all caches, and "released" or "text"."""

    dataset: str
    file: Path
    cache: Path
    protocol: str = Source.RELEASED.value

    def load(self, progress: bool = False) -> dict[str, Data]:
        """The data by the kind of their preprocessing: "dense" for HIGGS, "bucketed" and "continuous" for Criteo."""
        how, study = REAL_CONVENTIONS[self.protocol], study_name(self.dataset, self.protocol)
        if self.dataset == "higgs":
            return {"dense": higgs(self.file, self.cache / f"{study}-{self.file.name}", progress, how.shuffled)}
        raw = raw_criteo(self.file, self.cache / f"{self.dataset}-{self.file.name}", progress)  # of either protocol
        return {kind: criteo(raw, self.cache / f"{study}-{self.file.name}-{kind}", kind, how.columns) for kind in KINDS}


def find_origin(
    dataset: str, profile: str, out: Path, source: Path | None, protocol: str = Source.RELEASED.value
) -> Origin:
    """The rows of a study; for the quick profile those of a small random file, if none is given."""
    cache = out.absolute() / "cache"
    if source is not None:
        return Origin(dataset, source.absolute(), cache, protocol)
    if profile != "quick":
        files = _FILES[dataset]
        raise ValueError(f"{dataset} needs its data: give the file with --data, {files} or a Parquet sample of it")
    return Origin(dataset, write_miniature(dataset, cache), cache, protocol)


def facts(data: Data) -> dict[str, Any]:
    """By what the data are known: the checksum of their file, and how they are split."""
    return {"sha256": data.checksum, "splits": {part: list(span) for part, span in data.splits.items()}}
