void main() {
#ifdef WANT_rgb
    out_rgb = filmed(sky_colour(normalize(ray())), 0.0);
#endif
#ifdef WANT_depth
    out_depth = uintBitsToFloat(0x7f800000u); // infinite
#endif
#ifdef WANT_semantic
    out_semantic = 1u;
#endif
#ifdef WANT_instance
    out_instance = 0;
#endif
}
