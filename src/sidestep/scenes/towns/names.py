"""A hundred made-up town names. The order is part of the generator's version: name k is seed k."""

from __future__ import annotations

NAMES: tuple[str, ...] = (
    "Alderwick", "Amberleigh", "Applecross", "Ashbourne", "Bakerfold", "Barlowe", "Beckhaven", "Bellmere", "Birchend",
    "Blackford", "Bramblewood", "Brightsea", "Brookmarch", "Cairnholt", "Caldermoor", "Candleford", "Carrowdale",
    "Chalkwell", "Cloverdale", "Copperhill", "Cranmere", "Crowhurst", "Dappleton", "Deerleap", "Dovecote", "Driftwood",
    "Dunmarsh", "Eastwick", "Eddington", "Elmscroft", "Emberly", "Fairlight", "Fallowfield", "Fenwater", "Fernhollow",
    "Finchley", "Foxglove", "Galeport", "Gildersea", "Glassmoor", "Goldcrest", "Gorsedale", "Greyfriars", "Hallowby",
    "Harrowmead", "Hartsbridge", "Hawthorn", "Hazelbury", "Heronsgate", "Hollybank", "Honeywell", "Inglenook",
    "Ironbridge", "Ivyhatch", "Juniper", "Kestrel", "Kingfisher", "Kirkwall", "Lambswick", "Larkspur", "Lavenham",
    "Lindenfold", "Lowmarsh", "Maplewood", "Marlpit", "Meadowsweet", "Millbrook", "Mistlethorpe", "Mosswater",
    "Nettlecombe", "Nightingale", "Northolt", "Oakhanger", "Orchardleigh", "Otterbourne", "Pebbleridge", "Pinewick",
    "Plumstead", "Quarrybank", "Quillford", "Ravenscar", "Redmarley", "Riverbend", "Rookhope", "Rosewater",
    "Saltmarsh", "Sandpiper", "Silverdale", "Sparrowfield", "Springvale", "Starling", "Stonehaven", "Sunnymead",
    "Swallowcliffe", "Thistledown", "Tumbledown", "Umberleigh", "Violetbank", "Willowmere", "Yarrowby",
)  # fmt: skip
